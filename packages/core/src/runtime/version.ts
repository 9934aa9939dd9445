import manifest from '../../../../package.json' with { type: 'json' }

/**
 * The version of Rapport, from the package.json at the root: `/health`, `/ready`, OpenAPI, logs and the CLI show it.
 */
export const { version } = manifest
