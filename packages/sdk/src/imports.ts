/** Waits for imports. */
import { Imports } from './generated/operations.gen.ts'
import type { Import } from './generated/types.gen.ts'
import { sleep } from './retry.ts'

export interface WaitOptions {
  signal?: AbortSignal | undefined
  /** Milliseconds between requests. Default: 1,000. */
  pollMs?: number | undefined
  /** Called with the import after each request. */
  onProgress?: ((record: Import) => void) | undefined
}

const defaultPollMs = 1_000

/** The operations of imports, and waiting for their end. */
export class ImportsWithWait extends Imports {
  /**
   * Waits until the import is `COMPLETED`, `FAILED` or `CANCELED`, and returns it with its counts and the first errors.
   *
   * @throws The reason of the signal; the import continues on the server. `cancel` stops it.
   */
  async wait(id: string, { signal, pollMs = defaultPollMs, onProgress }: WaitOptions = {}): Promise<Import> {
    for (;;) {
      const record = await this.get(id, { signal })
      onProgress?.(record)
      if (record.status !== 'QUEUED' && record.status !== 'RUNNING') return record
      await sleep(pollMs, signal)
    }
  }
}
