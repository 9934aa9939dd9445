/** Generates TypeScript from an OpenAPI document with the two common generators, as users of the API do. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import openapiTypes, { astToString } from 'openapi-typescript'

/** Writes `schema.ts` (openapi-typescript) and `client/` (hey-api) into the folder. */
export async function generateTypeScript(document: object, folder: string): Promise<void> {
  const input = join(folder, 'openapi.json')
  await writeFile(input, JSON.stringify(document))
  await writeFile(join(folder, 'schema.ts'), astToString(await openapiTypes(JSON.stringify(document))))
  await createClient({
    input,
    output: { path: join(folder, 'client'), module: { extension: '.ts' } },
    plugins: [
      '@hey-api/client-fetch',
      '@hey-api/typescript',
      {
        name: '@hey-api/sdk',
        // `contacts.create` becomes `rapport.contacts.create()`.
        operations: { strategy: 'single', nesting: 'operationId', containerName: 'Rapport' },
      },
    ],
    logs: { level: 'silent', file: false },
  })
}
