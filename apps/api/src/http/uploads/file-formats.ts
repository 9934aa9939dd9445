/** The formats of uploaded files, from the content type of the request. */
import { httpErrors } from '@fastify/sensible'
import { type Encoding, encodings, findEncoding } from '@rapport/core/imports/file/file-encoding.ts'
import { truncateText } from '@rapport/core/kernel/errors.ts'
import type { FastifyRequest } from 'fastify'
import { unsupportedType } from '../body/body-encoding.ts'

export interface FileFormat {
  format: 'csv' | 'ndjson'
  encoding: Encoding
}

/** The content types that the OpenAPI document names. */
export const fileTypes = ['text/csv', 'application/x-ndjson']

/** Also the types that operating systems and programs give to such files, and to workbooks, which get an explanation. */
const formats = new Map<string, FileFormat['format']>([
  ...[
    'text/csv',
    'application/csv',
    'application/vnd.ms-excel',
    'application/vnd.oasis.opendocument.spreadsheet',
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
    'application/x-csv',
    'text/comma-separated-values',
    'text/tab-separated-values',
    'text/x-comma-separated-values',
    'text/x-csv',
  ].map((type): [string, 'csv'] => [type, 'csv']),
  ...[
    'application/x-ndjson',
    'application/jsonl',
    'application/jsonlines',
    'application/ndjson',
    'application/x-jsonlines',
  ].map((type): [string, 'ndjson'] => [type, 'ndjson']),
])

/** Throws a 415 that names what is supported. */
export function readFileFormat(request: FastifyRequest): FileFormat {
  const [, type = '', parameters = ''] = /^\s*([^\s;]+)\s*(.*)$/.exec(request.headers['content-type'] ?? '') ?? []
  const format = formats.get(type.toLowerCase())
  if (!format) throw unsupportedType(request)
  const [, label = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(parameters) ?? []
  const encoding = findEncoding(label)
  if (!encoding)
    throw httpErrors.unsupportedMediaType(`The charset "${truncateText(label, 40)}" must be ${encodings.join(' or ')}`)
  return { format, encoding }
}
