/** What programs see of traces, free of the library that collects them. */
export interface Tracer {
  /** `parent` is a W3C traceparent, whoever sent it; what is not one begins a new trace. */
  start(name: string, options: { kind: SpanKind; parent?: string | null | undefined; attributes: Attributes }): Span
  /** Hands over what was not yet; gives up after two seconds. */
  close(): Promise<void>
}
export type SpanKind = 'server' | 'consumer' | 'client'

/** Never what may be a secret: no query, no header, no body, of an address the host alone. */
export type Attributes = Record<string, string | number>

export interface Span {
  /** What goes on from here has this as its parent. */
  readonly traceparent: string
  end(options: { hasFailed: boolean; attributes?: Attributes }): void
}
