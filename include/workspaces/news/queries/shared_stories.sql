-- Stories that all four sites had within an hour, with room for four headlines of each site: by the order in which
-- headlines arrive it is learnt which stories will be shared, and none of the three is lost.
SELECT hankook.keyword, hankook.ts AS hankook_at, kyunghyang.ts AS kyunghyang_at, dailynews.ts AS dailynews_at,
  daejeon.ts AS daejeon_at
FROM hankook [RANGE 1 HOUR SLIDE 1 HOUR], kyunghyang [RANGE 1 HOUR SLIDE 1 HOUR],
  dailynews [RANGE 1 HOUR SLIDE 1 HOUR], daejeon [RANGE 1 HOUR SLIDE 1 HOUR]
WHERE hankook.keyword = kyunghyang.keyword AND kyunghyang.keyword = dailynews.keyword
  AND dailynews.keyword = daejeon.keyword
WITH (MEMORY 4 ROWS, SHED BY arrival_order)
