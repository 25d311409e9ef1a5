-- Packets and bytes through the router in the middle over five minutes, every minute.
SELECT count(*) AS packets, sum(bytes) AS volume
FROM r2 [RANGE 5 MINUTES SLIDE 1 MINUTE]
