-- From schema version 3 to 4: the people of views are in cohorts, and versions say more of what became of them.
alter table if exists anon.release_members add column if not exists time_zone varchar;
alter table if exists anon.release_versions add column if not exists returned bigint;
alter table if exists anon.release_versions add column if not exists parted bigint;
alter table if exists anon.release_versions add column if not exists relabeled bigint;
alter table if exists anon.release_versions add column if not exists left_out bigint;
alter table if exists anon.release_versions add column if not exists blank bigint;
alter table if exists anon.release_versions add column if not exists outdated bigint;
alter table if exists anon.release_versions add column if not exists note varchar;
