-- A row is a release that was dropped or replaced: what it promised, and how many rows it had. No row of it is kept.
create table if not exists anon.release_history (
    id varchar not null,
    release varchar not null,
    kind varchar not null,
    source varchar not null,
    printed varchar[] not null,
    k bigint not null,
    policy varchar not null,        -- as JSON
    rows bigint not null,
    version integer,
    created_at timestamp not null,  -- UTC
    ended_at timestamp not null,    -- UTC
    was_published boolean not null
);

-- A row is a class of such a release: its labels, in the order of `printed`, and how many rows had them. Of a view, the
-- last version is kept, and every one that was published.
create table if not exists anon.release_history_classes (
    id varchar not null,
    labels varchar[] not null,
    rows bigint not null,
    version integer                 -- NULL: the last one
);

-- A row is a file that a release was published to: when, which version, and the SHA-256 of the file.
create table if not exists anon.publications (
    release varchar not null,
    version integer,
    file varchar not null,          -- its name, without its folder
    sha256 varchar not null,
    k bigint not null,
    rows bigint not null,
    created_at timestamp not null,  -- of the release that was published, UTC
    published_at timestamp not null -- UTC
);
