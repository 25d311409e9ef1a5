-- Slowest, fastest and mean speed of each area over three minutes, every minute.
SELECT area_id, count(*) AS cars, min(speed) AS slowest, avg(speed) AS mean, max(speed) AS fastest
FROM traffic [RANGE 180 SECONDS SLIDE 60 SECONDS]
WHERE car_id IS NOT NULL
GROUP BY area_id
