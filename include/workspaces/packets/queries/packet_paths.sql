-- Packets that crossed all three routers within five minutes, and when each router saw them.
SELECT r1.pid, r1.bytes, r1.ts AS at_r1, r2.ts AS at_r2, r3.ts AS at_r3
FROM r1 [RANGE 5 MINUTES SLIDE 1 MINUTE], r2 [RANGE 5 MINUTES SLIDE 1 MINUTE], r3 [RANGE 5 MINUTES SLIDE 1 MINUTE]
WHERE r1.pid = r2.pid AND r2.pid = r3.pid
WITH (EVERY 30 SECONDS)
