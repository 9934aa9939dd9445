/**
 * A sub-select of the extensions that a dump includes; null for all. Those of Citus are left out: their processes would
 * use the database during a restore, and a dump is restored to one server.
 */
export const dumpedExtensions = `
  (select array_agg(extname::text) filter (where extname <> 'plpgsql' and extname not like 'citus%')
    from pg_extension having 'citus' = any(array_agg(extname)))`
