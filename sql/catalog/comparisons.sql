-- The table of compared methods: a row is a cell of a grid, one method at one k.
create table if not exists anon.comparisons (
    comparison varchar not null,   -- a fingerprint of the rows and hierarchies: cells that share it can be compared
    source varchar not null,
    rows bigint not null,
    method varchar not null,
    k bigint not null,
    l double,
    seed bigint not null,
    policy varchar not null,       -- as JSON
    status varchar not null,       -- done, failed or timeout
    message varchar,               -- why it failed
    seconds double,                -- that the method took
    time_limit double,             -- seconds that it was given
    measures varchar not null,     -- as JSON
    proof varchar not null,        -- what was verified on the released values, as JSON
    sqlanon varchar not null,
    created_at timestamp not null  -- UTC
);
