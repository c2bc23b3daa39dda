-- Notifies all replicas of changes immediately: the notification is part of the transaction.
-- only: postgres
create or replace function fairlead_tell() returns trigger language plpgsql as $$
begin perform pg_notify('fairlead_changes', new.topic); return null; end
$$;
-- only: postgres
create or replace trigger revisions_tell after insert or update on revisions for each row execute function fairlead_tell();
