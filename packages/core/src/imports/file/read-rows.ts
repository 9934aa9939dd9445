/** Reads the rows of a file: CSV with a layout, or NDJSON without one. */
import type { Layout } from '../../db/schema/imports.ts'
import { type FileLocation, openBuffer } from './byte-window.ts'
import { createCsvReader, type FileRow, type RowReader } from './csv-rows.ts'
import { createNdjsonReader } from './ndjson-rows.ts'

/** `matters` can leave out lines of NDJSON before they are parsed. */
export const createRowReader = (layout: Layout | null, matters?: (line: Buffer) => boolean): RowReader<unknown> =>
  layout ? createCsvReader(layout.delimiter) : createNdjsonReader(matters)

/** Yields the rows of bytes that are in memory, such as the start of a file. */
export async function* readBufferedRows(
  bytes: Buffer,
  { layout, start }: { layout: Layout | null; start: FileLocation },
): AsyncGenerator<FileRow<unknown>> {
  const window = openBuffer(bytes, start)
  const readRows = createRowReader(layout)
  for (;;) {
    const rows = await readRows(window, 1_000)
    if (rows.length === 0) return
    yield* rows
  }
}
