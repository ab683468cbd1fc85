-- From schema version 2 to 3: releases have versions.
alter table if exists anon.releases add column if not exists version integer;
alter table if exists anon.releases add column if not exists refreshed_at timestamp;
alter table if exists anon.releases add column if not exists held_new bigint;
alter table if exists anon.releases add column if not exists held_deleted bigint;
