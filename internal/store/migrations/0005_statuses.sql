-- Most rows have the same status.
drop index requests_status;
create index requests_status on requests (workspace_id, status, id) where status <> 200;
