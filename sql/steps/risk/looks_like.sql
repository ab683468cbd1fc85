-- A row is a column: how many values a sample of it has, and how many of them look like each kind of identifier. NULL
-- and empty text count as no values. Card numbers must pass Luhn's check, IBANs the one modulo 97. Telephone numbers
-- must begin with + or have something between the digits, and be neither dates nor decimals nor zip codes with a
-- hyphen.
select
    number,
    count(*) as total,
    count(*) filter (where regexp_full_match(value, '[^@\s]+@[^@\s]+\.[A-Za-z]{2,}')) as email,
    count(*) filter (where regexp_full_match(value, '[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}')) as uuid,
    count(*) filter (where
        regexp_full_match(value, '((25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1?[0-9]?[0-9])')
        or regexp_full_match(value, '([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}|[0-9A-Fa-f:]*::[0-9A-Fa-f:]*')
    ) as ip,
    count(*) filter (where case
        when regexp_full_match(replace(value, ' ', ''), '[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}') then list_reduce(
            list_transform(
                string_split(substr(replace(value, ' ', ''), 5) || substr(replace(value, ' ', ''), 1, 4), ''),
                lambda c: case when c <= '9' then ord(c) - ord('0') else ord(c) - ord('A') + 10 end
            ),
            lambda rest, v: (case when v < 10 then 10 else 100 end * rest + v) % 97
        ) = 1
        else false
    end) as iban,
    count(*) filter (where case
        when regexp_full_match(value, '[0-9]([ -]?[0-9]){12,18}') then list_sum(list_transform(
            string_split(reverse(regexp_replace(value, '[ -]', '', 'g')), ''),
            lambda c, place: case
                when place % 2 = 1 then cast(c as integer)
                else 2 * cast(c as integer) - case when c > '4' then 9 else 0 end
            end
        )) % 10 = 0
        else false
    end) as card,
    count(*) filter (where regexp_full_match(
        value,
        '[0-9]{3}-[0-9]{2}-[0-9]{4}'                                           -- United States
        || '|[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]'                  -- Italy
        || '|[0-9]{8}-?[A-Z]|[XYZ]-?[0-9]{7}-?[A-Z]'                           -- Spain
        || '|[A-CEGHJ-PR-TW-Z]{2} ?[0-9]{2} ?[0-9]{2} ?[0-9]{2} ?[A-D]'        -- United Kingdom
        || '|[12] ?[0-9]{2} ?[01][0-9] ?[0-9][0-9AB] ?[0-9]{3} ?[0-9]{3}( ?[0-9]{2})?' -- France
        || '|[0-9]{6}[-+A][0-9]{3}[0-9A-Z]|[0-9]{8}-[0-9]{4}'                  -- Nordic countries
        || '|756\.?[0-9]{4}\.?[0-9]{4}\.?[0-9]{2}'                            -- Switzerland
        || '|[A-Z][0-9]{9}'                                                    -- Germany, health insurance
        || '|[0-9]{3} [0-9]{3} [0-9]{4}'                                       -- England, NHS
        || '|[0-9]{6}/[0-9]{3,4}'                                              -- Czechia and Slovakia
    )) as ssn,
    count(*) filter (where
        regexp_full_match(value, '(\+|00)[1-9]([ ()./-]*[0-9]){6,14}|[0-9(]([0-9]*[ ()./-]+[0-9]+){1,6}')
        and length(regexp_replace(value, '[^0-9]', '', 'g')) between 7 and 15
        and not regexp_full_match(
            value,
            '[0-9]+\.[0-9]+|[0-9]{5}-[0-9]{4}|[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}|([0-9]{1,3}\.){3}[0-9]{1,3}'
        )
    ) as phone,
    count(*) filter (where regexp_full_match(
        value, '(\p{Lu}[\p{Ll}''’]+[ -]?){0,2}\p{Lu}[\p{Ll}''’]+,? (\p{Lu}\.? |(von|van|de|der|la|di|da|dos|zu) )*\p{Lu}[\p{Ll}''’-]+(-\p{Lu}\p{Ll}+)?'
    )) as person,
    count(*) filter (where length(value) >= 30 and length(value) - length(replace(value, ' ', '')) >= 4) as free
from (__values__)
group by number
