-- The format of a transaction's name.
XA START 'h1', 'b', 0x1;
XA END 'h1', 'b', 1;
XA PREPARE 'h1', 'b', 0x01;
XA ROLLBACK 'h1', 'b', 0x1;
XA START 0x6832, 0x62, 0x4B4150;
XA END 0x6832, 0x62, 0x4b4150;
XA COMMIT 0x6832, 0x62, 4931920 ONE PHASE;
XA START 'h3', 'b', X'01';
XA END 'h3','b',1;
XA ROLLBACK 'h3','b',1;
XA START 'h4', 'b', b'1';
XA START 'h4', 'b', '1';
