-- _stage: the first stage of that name, NULL without one (STRUCT, as in streams.stages).
CREATE MACRO _stage(stages, wanted) AS list_filter(stages, lambda stage: stage.name = wanted)[1];
