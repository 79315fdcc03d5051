BEGIN TRANSACTION;
CREATE TABLE arc (
    -- If recording branches, a row per context per from/to line transition executed.
    file_id integer,            -- foreign key to `file`.
    context_id integer,         -- foreign key to `context`.
    fromno integer,             -- line number jumped from.
    tono integer,               -- line number jumped to.
    foreign key (file_id) references file (id),
    foreign key (context_id) references context (id),
    unique (file_id, context_id, fromno, tono)
);
INSERT INTO "arc" VALUES(1,1,-1,1);
INSERT INTO "arc" VALUES(1,1,1,4);
INSERT INTO "arc" VALUES(1,1,4,8);
INSERT INTO "arc" VALUES(1,1,8,12);
INSERT INTO "arc" VALUES(1,1,12,-1);
INSERT INTO "arc" VALUES(1,2,-4,5);
INSERT INTO "arc" VALUES(1,2,5,-4);
INSERT INTO "arc" VALUES(1,3,-8,9);
INSERT INTO "arc" VALUES(1,3,9,-8);
INSERT INTO "arc" VALUES(1,4,-12,13);
INSERT INTO "arc" VALUES(1,4,13,-12);
INSERT INTO "arc" VALUES(2,1,-1,1);
INSERT INTO "arc" VALUES(2,1,1,7);
INSERT INTO "arc" VALUES(2,1,7,12);
INSERT INTO "arc" VALUES(2,1,12,-1);
INSERT INTO "arc" VALUES(2,2,-7,8);
INSERT INTO "arc" VALUES(2,2,-1,2);
INSERT INTO "arc" VALUES(2,2,2,4);
INSERT INTO "arc" VALUES(2,2,4,-1);
INSERT INTO "arc" VALUES(2,2,8,9);
INSERT INTO "arc" VALUES(2,2,9,-7);
INSERT INTO "arc" VALUES(2,3,-7,8);
INSERT INTO "arc" VALUES(2,3,-1,2);
INSERT INTO "arc" VALUES(2,3,2,3);
INSERT INTO "arc" VALUES(2,3,3,-1);
INSERT INTO "arc" VALUES(2,3,8,9);
INSERT INTO "arc" VALUES(2,3,9,-7);
INSERT INTO "arc" VALUES(2,4,-12,13);
INSERT INTO "arc" VALUES(2,4,13,-12);
CREATE TABLE context (
    -- A row per context measured.
    id integer primary key,
    context text,
    unique (context)
);
INSERT INTO "context" VALUES(1,'');
INSERT INTO "context" VALUES(2,'test_cart.py::test_small|run');
INSERT INTO "context" VALUES(3,'test_cart.py::test_large|run');
INSERT INTO "context" VALUES(4,'test_cart.py::test_empty|run');
CREATE TABLE coverage_schema (
    -- One row, to record the version of the schema in this db.
    version integer
);
INSERT INTO "coverage_schema" VALUES(7);
CREATE TABLE file (
    -- A row per file measured.
    id integer primary key,
    path text,
    unique (path)
);
INSERT INTO "file" VALUES(1,'/src/covp/test_cart.py');
INSERT INTO "file" VALUES(2,'/src/covp/cart.py');
CREATE TABLE line_bits (
    -- If recording lines, a row per context per file executed.
    -- All of the line numbers for that file/context are in one numbits.
    file_id integer,            -- foreign key to `file`.
    context_id integer,         -- foreign key to `context`.
    numbits blob,               -- see the numbits functions in coverage.numbits
    foreign key (file_id) references file (id),
    foreign key (context_id) references context (id),
    unique (file_id, context_id)
);
CREATE TABLE meta (
    -- Key-value pairs, to record metadata about the data
    key text,
    value text,
    unique (key)
    -- Possible keys:
    --  'has_arcs' boolean      -- Is this data recording branches?
    --  'sys_argv' text         -- The coverage command line that recorded the data.
    --  'version' text          -- The version of coverage.py that made the file.
    --  'when' text             -- Datetime when the file was created.
    --  'hash' text             -- Hash of the data.
);
INSERT INTO "meta" VALUES('version','7.17.5');
INSERT INTO "meta" VALUES('has_arcs','1');
CREATE TABLE tracer (
    -- A row per file indicating the tracer used for that file.
    file_id integer primary key,
    tracer text,
    foreign key (file_id) references file (id)
);
COMMIT;
