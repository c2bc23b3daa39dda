-- Every index makes every insert slower. Streamed and other responses are both frequent, so a scan by id finds them as fast.
-- Most requests are for "auto" and most of these have savings: only the others need an index. The tags of a request are in its
-- summary, so that they can be deleted without an index by request.
drop index requests_stream;
drop index requests_requested;
create index requests_requested on requests (workspace_id, requested, id) where requested <> 'auto';
drop index requests_saved;
create index requests_saved on requests (workspace_id, saved_class, id, saved) where saved_class < 0;
drop index tags_request;
