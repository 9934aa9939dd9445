/** The tracing interface, independent of the OpenTelemetry library. */
export interface Tracer {
  /** `parent` is a W3C traceparent. Without a valid one, the span starts a new trace. */
  start(name: string, options: { kind: SpanKind; parent?: string | null | undefined; attributes: Attributes }): Span
  /** Exports the remaining spans. Gives up after two seconds. */
  close(): Promise<void>
}
export type SpanKind = 'server' | 'consumer' | 'client'

/** Must not contain secrets: no query, header or body, and only the host of a URL. */
export type Attributes = Record<string, string | number>

export interface Span {
  /** The parent of spans that continue this one. */
  readonly traceparent: string
  end(options: { hasFailed: boolean; attributes?: Attributes }): void
}
