import { strToU8, zipSync } from 'fflate'
import { toBrunoCollection } from './bruno-collection.ts'
import type { OpenApiDocument } from './openapi-document.ts'

/** The collection as a ZIP archive with one folder. The bytes are the same in every process, and so is their ETag. */
export function zipBrunoCollection(document: OpenApiDocument, publicUrl: string): Uint8Array {
  const files: Record<string, Uint8Array> = {}
  for (const [path, text] of toBrunoCollection(document, publicUrl)) files[`rapport-bruno/${path}`] = strToU8(text)
  return zipSync(files, { mtime: new Date(1980, 0, 1) })
}
