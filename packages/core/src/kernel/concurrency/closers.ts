export interface Closers {
  /** Call it right after opening something. */
  push(close: () => unknown): void
  /** Runs the closers, last in, first out. One that throws stops none of the others; the first error is thrown. */
  close(): Promise<void>
}

/** Collects what has to be closed, also when a start fails half-way. */
export function createClosers(): Closers {
  const closers: (() => unknown)[] = []
  return {
    push: (close) => void closers.push(close),
    async close() {
      const errors: unknown[] = []
      for (let close = closers.pop(); close; close = closers.pop()) {
        try {
          await close()
        } catch (error) {
          errors.push(error)
        }
      }
      if (errors.length > 0) throw errors[0]
    },
  }
}
