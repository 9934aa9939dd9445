/** The API reference of Scalar: its configuration and its script. */
import Fastify from 'fastify'

/** No requests to other hosts, and no links to Scalar's own products. */
export const referenceConfiguration = {
  withDefaultFonts: false,
  hideClientButton: true,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  authentication: { preferredSecurityScheme: 'bearer' },
}

/**
 * The policy of the page that runs the script. Scalar sets styles inline; scripts come from this server only. The page
 * may call the API, for the requests that a reader sends from it.
 */
export const referencePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/**
 * Reads the browser script of Scalar, 4.4 MB. The package has it in a plugin that sends it uncompressed, so it is read
 * once from the plugin's route. The module takes 40 MB of memory and is loaded only if someone opens the reference.
 */
export async function readReferenceScript(): Promise<string> {
  const { default: scalar } = await import('@scalar/fastify-api-reference')
  const app = Fastify()
  await app.register(scalar, { routePrefix: '/reference', configuration: { url: '/openapi.json' } })
  const { body } = await app.inject('/reference/js/scalar.js')
  await app.close()
  return body
}
