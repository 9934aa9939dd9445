import type { FastifyBaseLogger } from 'fastify'

type Bindings = Parameters<FastifyBaseLogger['child']>[0]
type Options = Parameters<FastifyBaseLogger['child']>[1]
type Said = Parameters<FastifyBaseLogger['info']>

/**
 * What one request logs with, its id in each line. Most requests say nothing: the child logger that knows the id, which
 * costs as much to make as the headers of the answer, is made with the first word.
 */
class RequestLog {
  readonly #parent: FastifyBaseLogger
  readonly #bindings: Bindings
  readonly #options: Options
  #log: FastifyBaseLogger | undefined

  constructor(parent: FastifyBaseLogger, bindings: Bindings, options: Options) {
    this.#parent = parent
    this.#bindings = bindings
    this.#options = options
  }

  get #made(): FastifyBaseLogger {
    this.#log ??= this.#parent.child(this.#bindings, this.#options)
    return this.#log
  }

  get level() {
    return this.#made.level
  }

  set level(level) {
    this.#made.level = level
  }

  child(bindings: Bindings, options?: Options): FastifyBaseLogger {
    return this.#made.child(bindings, options)
  }

  trace(...said: Said) {
    this.#made.trace(...said)
  }

  debug(...said: Said) {
    this.#made.debug(...said)
  }

  info(...said: Said) {
    this.#made.info(...said)
  }

  warn(...said: Said) {
    this.#made.warn(...said)
  }

  error(...said: Said) {
    this.#made.error(...said)
  }

  fatal(...said: Said) {
    this.#made.fatal(...said)
  }

  silent(...said: Said) {
    this.#made.silent(...said)
  }
}

/** As Fastify's `childLoggerFactory`. */
export function logOfRequest(parent: FastifyBaseLogger, bindings: Bindings, options: Options): FastifyBaseLogger {
  return new RequestLog(parent, bindings, options) as FastifyBaseLogger
}
