-- From schema version 4 to 5: classes in the history say of which version they are.
alter table if exists anon.release_history_classes add column if not exists version integer;
