using System.Diagnostics;
using System.Globalization;
using ProtoRpc.Messages;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Completion;

/// <summary>Offers headers of requests: those that the options of the services name, and the well-known
/// ones.</summary>
internal sealed class HeaderCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        HeaderShape shape = HeaderShape.From(SchemasOf(bound));
        return shape.Keys([]).Select(key => Candidate.OfScript(
            ScriptLiteral.Table(
                [KeyValuePair.Create<object, string>(key.Name, ScriptLiteral.Format(shape.First(key.Name)))]),
            key.Comment, key.Name));
    }

    internal override HashtableShape? TableOf(IDictionary bound) => HeaderShape.From(SchemasOf(bound));
}

/// <summary>Offers the extensions of the request header that the schema declares.</summary>
internal sealed class ExtensionCompleter : RpcCompleter
{
    internal override IEnumerable<Candidate> Candidates(IDictionary bound)
    {
        IReadOnlyList<RpcFieldInfo> fields = FieldsOf(bound);
        if (fields.Count > 0)
        {
            yield return Candidate.OfScript(
                ScriptLiteral.Table(fields.Select(field => KeyValuePair.Create<object, string>(
                    field.Name, HashtableCompletion.ScriptOf(field)))),
                "The extensions of the request header");
        }
    }

    internal override HashtableShape? TableOf(IDictionary bound) => HashtableShape.OfFields(FieldsOf(bound));

    private static IReadOnlyList<RpcFieldInfo> FieldsOf(IDictionary bound) =>
        [.. SchemasOf(bound).SelectMany(HeaderExtensionMap.OfRequests).DistinctBy(field => field.Name)];
}

/// <summary>Offers names of headers for a gateway, with the default treatment of each.</summary>
internal sealed class HeaderNameCompleter : RpcCompleter
{
    // The gateway forwards these by default, so listing them only makes sense for blocking.
    private static readonly string[] Passing = ["traceparent", "tracestate", "baggage", "x-request-id"];

    internal override IEnumerable<Candidate> Candidates(IDictionary bound) => HeaderRule.OfOthers
        .Order(StringComparer.Ordinal)
        .Select(name => new Candidate(name, "is not forwarded unless ForwardHeader names it"))
        .Concat(Passing.Select(name => new Candidate(name, "is forwarded unless BlockHeader names it")));
}

/// <summary>The keys and values of a hashtable of request headers.</summary>
/// <param name="named">The headers that the schema names, with their descriptions.</param>
internal sealed class HeaderShape(IReadOnlyList<HashtableKey> named) : HashtableShape
{
    private const string Type = "header";
    private const int MaxName = 100;

    private static readonly HashtableKey[] WellKnown =
    [
        new("authorization", Type, "Who calls: a token or a password, as 'Bearer TOKEN'"),
        new("x-api-key", Type, "The key of an application"),
        new("x-request-id", Type, "The id of the request in logs"),
        new("x-correlation-id", Type, "The id that several requests have in common"),
        new("traceparent", Type, "The trace that the call is part of (W3C Trace Context)"),
        new("tracestate", Type, "What systems of tracing add to traceparent"),
        new("baggage", Type, "Names and values that go with the trace (W3C Baggage)"),
        new("accept-language", Type, "The languages of texts in the reply"),
        new("cookie", Type, "Cookies of an HTTP service"),
        new("idempotency-key", Type, "The same for repeated requests that are to count once"),
        new("if-match", Type, "The version that a change is for"),
        new("x-forwarded-for", Type, "The address of the original client, set by proxies"),
        new("x-tenant-id", Type, "The tenant whose data it is"),
        new("user-agent", Type, "The program that calls, as NAME/VERSION; ProtoRpc adds itself"),
        new("x-user-agent", Type, "The program that calls, where user-agent is that of a browser"),
    ];

    public static HeaderShape From(IEnumerable<RpcSchema> schemas) => new(
    [
        .. schemas.SelectMany(schema => schema.Services)
            .SelectMany(service => InOptions(service.FullName, service.Options)
                .Concat(service.Methods.SelectMany(method => InOptions(method.FullName, method.Options))))
            .DistinctBy(key => key.Name),
    ]);

    public override IEnumerable<HashtableKey> Keys(IReadOnlyCollection<string> given) => named
        .Concat(WellKnown)
        .DistinctBy(key => key.Name)
        .Where(key => !given.Contains(key.Name, StringComparer.OrdinalIgnoreCase));

    public override HashtableShape? Inside(string key) => null;

    public override IEnumerable<HashtableValue> Values(string key) => key.ToUpperInvariant() switch
    {
        "AUTHORIZATION" => [Value("Bearer ", "a token"), Value("Basic ", "NAME:PASSWORD as base64")],
        "X-REQUEST-ID" or "X-CORRELATION-ID" or "IDEMPOTENCY-KEY" => [Value($"{Guid.NewGuid()}", "a new id")],
        "TRACEPARENT" => [Value(NewTrace(), "a new trace")],
        "ACCEPT-LANGUAGE" => [Value(Language, "the language of this session")],
        _ => [],
    };

    /// <summary>The first suggested value of a header; empty if there is none.</summary>
    public object First(string name) => Values(name).FirstOrDefault()?.Value ?? "";

    private static string Language => CultureInfo.CurrentUICulture.Name is { Length: > 0 } name ? name : "en";

    private static string NewTrace() =>
        $"00-{ActivityTraceId.CreateRandom()}-{ActivitySpanId.CreateRandom()}-01";

    private static HashtableValue Value(string value, string comment) => new(value, Type, comment);

    // No standard defines how a schema names its headers. An option whose name contains headers or metadata
    // is assumed to list them: (acme.required_headers) = "x-tenant".
    private static IEnumerable<HashtableKey> InOptions(
        string owner, IReadOnlyDictionary<string, object?> options) =>
        from option in options
        where option.Key.Contains("header", StringComparison.OrdinalIgnoreCase)
            || option.Key.Contains("metadata", StringComparison.OrdinalIgnoreCase)
        from name in TextsIn(option.Value, depth: 0)
        where IsName(name)
        select new HashtableKey(name.ToLowerInvariant(), Type, $"{option.Key} of {owner}");

    private static IEnumerable<string> TextsIn(object? value, int depth) => value switch
    {
        string text => [text],
        IDictionary dictionary when depth < 3 =>
            dictionary.Values.Cast<object?>().SelectMany(one => TextsIn(one, depth + 1)),
        IEnumerable list when depth < 3 => list.Cast<object?>().SelectMany(one => TextsIn(one, depth + 1)),
        _ => [],
    };

    private static bool IsName(string text) => text.Length is > 0 and <= MaxName
        && text.All(c => char.IsAsciiLetterOrDigit(c) || c is '-' or '_' or '.');
}
