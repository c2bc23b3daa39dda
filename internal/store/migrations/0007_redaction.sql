-- Redaction rules of a workspace, as JSON; empty for the rules of the instance.
alter table workspaces add column redaction text not null default '';
