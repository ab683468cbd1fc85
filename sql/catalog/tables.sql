-- The tables of the schema anon: hierarchies and their nodes, releases and what was measured of them.
create schema if not exists anon;

create table if not exists anon.version (
    schema_version integer not null,
    sqlanon varchar not null
);

create table if not exists anon.hierarchies (
    name varchar not null,
    kind varchar not null,      -- tree: its nodes are stored; intervals, prefix, dates: a rule for any column
    settings varchar not null,  -- a rule's settings, as JSON
    height integer,             -- levels of a stored tree, leaves and top included
    leaves bigint,
    created_at timestamp not null  -- UTC
);

create table if not exists anon.hierarchy_nodes (
    name varchar not null,
    node integer not null,
    parent integer,
    label varchar not null,
    level integer not null,     -- 0 at the deepest leaves, height - 1 at the top
    lo bigint not null,         -- the leaves below have the ranks lo to hi, in depth-first order
    hi bigint not null
);

create table if not exists anon.releases (
    name varchar not null,
    schema_name varchar not null,
    table_name varchar not null,
    mark varchar not null,      -- the comment on the view or table, by which it is recognized
    kind varchar not null,      -- view or table
    storage varchar not null,   -- the table in this schema, or the release itself, that holds the rows
    source varchar not null,
    printed varchar[] not null, -- the release's columns that make its classes
    k bigint not null,
    policy varchar not null,    -- as JSON
    proof varchar not null,     -- what was verified on the released values, as JSON
    metrics varchar not null,   -- as JSON
    learned varchar not null,   -- what the method learned in addition to the groups, as JSON
    rows bigint not null,
    sqlanon varchar not null,
    created_at timestamp not null, -- UTC
    version integer,            -- 1 when made, one more whenever a refresh changes the released rows
    refreshed_at timestamp,     -- UTC; NULL if never
    held_new bigint,            -- people of the source who are not released yet, because they are too few
    held_deleted bigint         -- people who are no longer in the source but still released
);

-- A row is a version of a release: how many rows it has, how many of them were added and how many were withdrawn.
create table if not exists anon.release_versions (
    release varchar not null,
    version integer not null,
    rows bigint not null,
    added bigint not null,
    withdrawn bigint not null,
    held_new bigint not null,
    held_deleted bigint not null,
    returned bigint,            -- rows of cohorts that were withdrawn and of whom somebody came back
    parted bigint,              -- cohorts that were parted
    relabeled bigint,           -- cohorts whose labels followed their members
    left_out bigint,            -- people of the source who are never released
    blank bigint,               -- rows released without sensitive values
    outdated bigint,            -- people of the source whose sensitive values are no longer those released
    note varchar,               -- why new people are not added, where that is not for their number
    made_at timestamp not null  -- UTC
);

-- A row is a cohort of a view: people who were first released together. Nobody joins it, nobody is put into another one;
-- it is released or withdrawn as a whole, or parted. Who is in it says the table release_N_members; cohort 0 there are
-- those who are left out for good.
create table if not exists anon.release_cohorts (
    release varchar not null,
    cohort bigint not null,
    parent bigint,              -- the cohort that it was parted from
    born integer not null,      -- the version that first released or parted it
    people bigint not null,
    is_blank boolean not null,  -- is it released without sensitive values?
    is_shown boolean not null,
    is_erased boolean not null  -- is it withdrawn for good?
);

-- How the people of a view are recognized in its source: their digests are in the table release_N_members,
-- made with this salt from these columns.
create table if not exists anon.release_members (
    release varchar not null,
    salt varchar not null,
    columns varchar not null,   -- with their types, as JSON
    key_check varchar,          -- what the key of its pseudonyms makes of the salt
    time_zone varchar           -- in which times without a zone are meant
);

-- What anon.utility computes its measures from, see sql/steps/measure/measures.sql.
create table if not exists anon.release_labels (
    release varchar not null,
    attribute varchar not null,
    label varchar,
    rows bigint not null,
    weight double not null,
    ncp double not null,
    lm double not null,
    eloss double not null,
    is_modified boolean not null,
    level integer,              -- of the released node, NULL for numbers without a hierarchy
    height integer,
    mass bigint not null        -- rows of the source that the label covers
);

create table if not exists anon.release_leaves (
    release varchar not null,
    attribute varchar not null,
    level integer,              -- of the leaf before generalization, NULL for numbers without a hierarchy
    height integer,
    rows bigint not null,
    logarithms double not null
);

create table if not exists anon.release_classes (
    release varchar not null,
    size bigint not null,
    classes bigint not null,
    is_suppressed boolean not null,
    combinations double
);

create table if not exists anon.release_diversities (
    release varchar not null,
    sensitive varchar not null,
    off_majority bigint not null,
    mean_entropy double not null,
    least_entropy double not null,
    least_frequency double not null
);

create table if not exists anon.release_information (
    release varchar not null,
    attribute varchar not null,
    sensitive varchar not null,
    prior double not null,
    original double not null,
    printed double not null
);

create table if not exists anon.release_others (
    release varchar not null,
    measure varchar not null,
    value double
);

-- Some people whom a release was made from, by which they are recognized in a copy of its source: digests of their values
-- with this salt, column after column and person after person, and how many rows equal each person's.
create table if not exists anon.release_people (
    release varchar not null,   -- or its id in release_history
    salt varchar not null,
    columns varchar[] not null,
    rows bigint not null,       -- of the source
    digests ubigint[] not null,
    copies bigint[] not null
);
