import { once } from 'node:events'
import { createGunzip } from 'node:zlib'
import { waitForDrain } from './wait-for-drain.ts'

/** Set when the file has been read completely. */
export interface RowCount {
  count: number | undefined
}

const [lineFeed, quote] = [10, 34]

/**
 * Passes a file through unchanged and counts its rows for the progress bar. A row is a line, except the header of a CSV
 * and lines within its quotes. Blank lines count too, so the import may end before the bar is full.
 */
export async function* countRows(
  bytes: AsyncIterable<Buffer>,
  file: { format: 'csv' | 'ndjson'; isGzip: boolean; rows: RowCount; onBytes: (sent: number) => void },
): AsyncGenerator<Buffer> {
  let [sent, lines, isQuoted, isLineOpen] = [0, 0, false, false]
  function count(chunk: Buffer) {
    for (const byte of chunk) {
      if (byte === quote && file.format === 'csv') isQuoted = !isQuoted
      if (byte === lineFeed && !isQuoted) lines += 1
    }
    if (chunk.length > 0) isLineOpen = chunk.at(-1) !== lineFeed
  }
  // The server rejects an invalid gzip file with a better message.
  const gunzip = file.isGzip
    ? createGunzip()
        .on('data', count)
        .on('error', () => {})
    : undefined
  for await (const chunk of bytes) {
    if (!gunzip) count(chunk)
    else if (gunzip.writable && !gunzip.write(chunk)) {
      await waitForDrain(gunzip)
    }
    sent += chunk.length
    file.onBytes(sent)
    yield chunk
  }
  if (gunzip?.writable) {
    gunzip.end()
    await once(gunzip, 'close').catch(() => {})
  }
  file.rows.count = lines + (isLineOpen ? 1 : 0) - (file.format === 'csv' ? 1 : 0)
}
