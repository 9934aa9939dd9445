/** The promises that the methods return: of a record, and of a page of records. */

export interface WithResponse<Data> {
  data: Data
  /** The response, whose body was read. Its headers have the `etag` and the remaining rate limit. */
  response: Response
}

/** A promise of the parsed body. The request is already being sent. */
export class ApiPromise<Data> extends Promise<Data> {
  readonly #result: Promise<WithResponse<Data>>

  constructor(result: Promise<WithResponse<Data>>) {
    // This promise itself is never observed: all that observe it are forwarded to `#result`.
    super((resolve) => resolve(undefined as never))
    this.#result = result
  }

  // `then` must create a plain promise, as the constructor takes no executor.
  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  /** The parsed body together with the response, for example to read a header. */
  withResponse(): Promise<WithResponse<Data>> {
    return this.#result
  }

  // oxlint-disable-next-line unicorn/no-thenable -- A promise has this method.
  override then<Fulfilled = Data, Rejected = never>(
    onFulfilled?: ((data: Data) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    return this.#result.then(({ data }) => data).then(onFulfilled, onRejected)
  }

  override catch<Rejected = never>(
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Data | Rejected> {
    return this.then(undefined, onRejected)
  }

  override finally(onFinally?: (() => void) | null): Promise<Data> {
    return this.#result.then(({ data }) => data).finally(onFinally)
  }
}

export interface Page {
  data: unknown[]
  nextCursor: string | null
}

type RecordOf<P extends Page> = Awaited<P['data'][number]>

/** A promise of the first page, and an iterable of the records of all pages. */
export class PagePromise<P extends Page> extends ApiPromise<P> implements AsyncIterable<RecordOf<P>> {
  readonly #readNext: (cursor: string) => Promise<P>

  constructor(first: Promise<WithResponse<P>>, readNext: (cursor: string) => Promise<P>) {
    super(first)
    this.#readNext = readNext
  }

  /** Yields each record, and requests a page when the one before is used up. */
  async *[Symbol.asyncIterator](): AsyncGenerator<RecordOf<P>, void, undefined> {
    let page: P = await this
    for (;;) {
      yield* page.data as RecordOf<P>[]
      if (page.nextCursor === null) return
      page = await this.#readNext(page.nextCursor)
    }
  }
}
