/** Generates the types and the operations of the SDK from the OpenAPI document of the API. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@hey-api/openapi-ts'
import type { OpenApiDocument } from './openapi-document.ts'
import { writeOperations } from './write-operations.ts'

/** Returns the text of each file of `src/generated/`, by file name. */
export async function generateSdk(document: OpenApiDocument): Promise<Record<string, string>> {
  return { 'types.gen.ts': await generateTypes(document), 'operations.gen.ts': writeOperations(document) }
}

/** The types of all schemas, requests and responses, by hey-api. */
async function generateTypes(document: OpenApiDocument): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rapport-sdk-'))
  try {
    const input = join(folder, 'openapi.json')
    await writeFile(input, JSON.stringify(document))
    await createClient({
      input,
      output: { path: join(folder, 'generated'), module: { extension: '.ts' } },
      plugins: ['@hey-api/typescript'],
      logs: { level: 'silent', file: false },
    })
    return await readFile(join(folder, 'generated/types.gen.ts'), 'utf8')
  } finally {
    await rm(folder, { recursive: true })
  }
}
