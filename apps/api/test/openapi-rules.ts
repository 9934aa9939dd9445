/** Checks an OpenAPI document against the schema of the specification, and with a linter. */
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Validator } from '@seriousme/openapi-schema-validator'

/** The problems that both find, as texts. */
export async function findProblems(document: object): Promise<string[]> {
  const results = await Promise.all([validateBySchema(document), lint(document)])
  return results.flat()
}

async function validateBySchema(document: object): Promise<string[]> {
  const { valid, errors } = await new Validator().validate(structuredClone(document) as Record<string, unknown>)
  return valid ? [] : [`openapi-schema-validator: ${JSON.stringify(errors)}`]
}

const rules = {
  // The server is the PUBLIC_URL of the installation, in tests an example.
  'no-server-example.com': 'off',
  // The links of tracked mails and posted forms only redirect: 302 and 303.
  'operation-2xx-response': 'off',
} as const

async function lint(document: object): Promise<string[]> {
  const config = await createConfig({ extends: ['recommended'], rules })
  const problems = await lintFromString({ source: JSON.stringify(document), absoluteRef: 'openapi.json', config })
  return problems.map(
    ({ ruleId, message, location }) => `redocly ${ruleId}: ${message} (${location[0]?.pointer ?? 'unknown'})`,
  )
}
