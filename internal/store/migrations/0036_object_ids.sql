-- Finds the workspaces that have recorded a file which a request names.
create index provider_objects_id on provider_objects (id);
