-- What is taken out of a workspace's texts before they are stored, as JSON; empty for what the instance says.
alter table workspaces add column redaction text not null default '';
