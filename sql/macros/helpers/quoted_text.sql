-- A text as SQL writes it.
create or replace macro anon.quoted_text(written) as ('''' || replace(written, '''', '''''') || '''');
