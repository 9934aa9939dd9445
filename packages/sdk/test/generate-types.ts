/** Generates TypeScript from an OpenAPI document with a common generator, as users of the API do. */
import openapiTypes, { astToString } from 'openapi-typescript'

/** The types of all paths and schemas. */
export async function generateTypes(document: object): Promise<string> {
  return astToString(await openapiTypes(JSON.stringify(document)))
}
