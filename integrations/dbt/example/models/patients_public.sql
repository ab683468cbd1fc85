-- A row is a patient, hidden among k. The query verifies itself: if it broke k, nothing would be built.
{{ config(materialized='table') }}

select age, zip, sex, diagnosis
from anon.anonymize(
    '{{ ref("patients") }}',
    quasi := ['age', 'zip', 'sex'],
    sensitive := ['diagnosis'],
    k := {{ var('k') }},
    l := 2
)
