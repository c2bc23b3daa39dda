-- Every index costs every request. Whether an answer was streamed has two values, both of them usual: the order of ids finds
-- them as fast. Most requests name "auto", and most of them save something: only the others are looked for by an index. What
-- tags a request has stands in its summary, so that they can be deleted without an index by requests.
drop index requests_stream;
drop index requests_requested;
create index requests_requested on requests (workspace_id, requested, id) where requested <> 'auto';
drop index requests_saved;
create index requests_saved on requests (workspace_id, saved_class, id, saved) where saved_class < 0;
drop index tags_request;
