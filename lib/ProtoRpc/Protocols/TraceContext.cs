using System.Collections.Frozen;
using System.Diagnostics;
using System.Diagnostics.Metrics;
using System.Security.Cryptography;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.Protocols;

/// <summary>Reads and writes the activity of a call in headers: W3C's <c>traceparent</c> and
/// <c>tracestate</c>.</summary>
internal static class TraceContext
{
    private const string Parent = "traceparent";
    private const string State = "tracestate";

    private const int TraceIdStart = 3;
    private const int TraceIdLength = 32;
    private const int SpanIdStart = 36;
    private const int SpanIdLength = 16;
    private const int FlagsStart = 53;
    private const int FlagsLength = 2;
    private const int ParentLength = 55;
    private const int MaxStateMembers = 32;

    // W3C Trace Context, section 3.3.1.5, requires to pass on this length. A longer state is omitted.
    private const int MaxStateLength = 512;

    private static readonly SearchValues<char> LowerHex = SearchValues.Create("0123456789abcdef");
    private static readonly SearchValues<char> KeyCharacters =
        SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789_-*/@");

    /// <summary>Whether the headers contain an activity.</summary>
    public static bool IsIn(RpcMetadata headers) => headers.Names.Contains(Parent);

    /// <summary>Removes the activity from headers.</summary>
    public static void Remove(RpcMetadata headers)
    {
        headers.Remove(Parent);
        headers.Remove(State);
    }

    /// <summary>Adds an activity to the headers of a call.</summary>
    /// <remarks>An activity whose id is not in W3C's format is not sent.</remarks>
    public static void Write(Activity activity, RpcMetadata headers)
    {
        if (activity is not { IdFormat: ActivityIdFormat.W3C, Id: { } id })
        {
            return;
        }

        headers.Add(Parent, id);
        if (activity.TraceStateString is { Length: > 0 and <= MaxStateLength } state
            && state.All(c => c is >= ' ' and <= '~'))
        {
            headers.Add(State, state);
        }
    }

    /// <summary>The activity in the headers of a call, by W3C Trace Context.</summary>
    /// <returns>The default if the headers contain no activity, several, or a malformed one. A malformed
    /// state is omitted.</returns>
    public static ActivityContext Read(RpcMetadata headers) =>
        Read([.. headers.GetAll(Parent).OfType<string>()], headers.GetAll(State).OfType<string>());

    /// <inheritdoc cref="Read(RpcMetadata)"/>
    /// <param name="parents">All values of <c>traceparent</c>.</param>
    /// <param name="states">All values of <c>tracestate</c>.</param>
    public static ActivityContext Read(IReadOnlyList<string?> parents, IEnumerable<string?> states)
    {
        if (parents is not [{ } parent] || !IsParent(parent))
        {
            return default;
        }

        string state = string.Join(',', states);
        return new ActivityContext(
            ActivityTraceId.CreateFromString(parent.AsSpan(TraceIdStart, TraceIdLength)),
            ActivitySpanId.CreateFromString(parent.AsSpan(SpanIdStart, SpanIdLength)),
            (Convert.FromHexString(parent.AsSpan(FlagsStart, FlagsLength))[0] & 1) == 0
                ? ActivityTraceFlags.None
                : ActivityTraceFlags.Recorded,
            IsState(state) ? state : null,
            isRemote: true);
    }

    // Section 3.2.2: 00-TRACEID-SPANID-FLAGS in lower case. Section 3.2.4: later versions begin in the same
    // way and may add fields; ff is invalid.
    private static bool IsParent(string text) =>
        text.Length >= ParentLength
        && (text.Length == ParentLength
            || (text[ParentLength] == '-' && !text.StartsWith("00", StringComparison.Ordinal)))
        && text[2] == '-' && text[SpanIdStart - 1] == '-' && text[FlagsStart - 1] == '-'
        && IsHex(text.AsSpan(0, 2)) && !text.StartsWith("ff", StringComparison.Ordinal)
        && IsHex(text.AsSpan(TraceIdStart, TraceIdLength), isZeroAllowed: false)
        && IsHex(text.AsSpan(SpanIdStart, SpanIdLength), isZeroAllowed: false)
        && IsHex(text.AsSpan(FlagsStart, FlagsLength));

    private static bool IsHex(ReadOnlySpan<char> text, bool isZeroAllowed = true) =>
        !text.ContainsAnyExcept(LowerHex) && (isZeroAllowed || text.ContainsAnyExcept('0'));

    // Section 3.3.1: at most 32 members, each a key, an equals sign and a value of printable characters.
    private static bool IsState(string text) =>
        text.Length is > 0 and <= MaxStateLength
        && !text.AsSpan().ContainsAnyExceptInRange(' ', '~')
        && text.Split(',') is { Length: <= MaxStateMembers } members
        && members.All(member => member.AsSpan().Trim(' ') is var trimmed
            && (trimmed.IsEmpty || IsMember(trimmed)));

    private static bool IsMember(ReadOnlySpan<char> member)
    {
        int equals = member.IndexOf('=');
        return equals > 0 && equals < member.Length - 1
            && !member[..equals].ContainsAnyExcept(KeyCharacters)
            && !member[(equals + 1)..].Contains('=');
    }
}

/// <summary>The attributes of a call in activities and measurements, on both sides, with the names of
/// OpenTelemetry's conventions for RPC.</summary>
internal static class TelemetryNames
{
    /// <summary>The method name for a call to an unknown or unreadable method, so that callers cannot add
    /// values to the attribute by inventing names.</summary>
    public const string UnknownMethod = "_OTHER";

    private const string System = "rpc.system.name";
    private const string Method = "rpc.method";
    private const string OriginalMethod = "rpc.method_original";
    private const string Status = "rpc.response.status_code";
    private const string ErrorType = "error.type";
    private const string Address = "server.address";
    private const string Port = "server.port";

    private static readonly FrozenDictionary<RpcStatusCode, string> StatusNames =
        Enum.GetValues<RpcStatusCode>().ToFrozenDictionary(code => code, NameOf);

    /// <summary>Creates the histogram of the durations of calls, in seconds.</summary>
    public static Histogram<double> CreateDuration(string name, string description) =>
        RpcDiagnostics.Meter.CreateHistogram(
            name, "s", description, tags: null,
            new InstrumentAdvice<double>
            {
                HistogramBucketBoundaries =
                    [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
            });

    /// <summary>Starts an activity and makes it the current one.</summary>
    /// <param name="kind">The side.</param>
    /// <param name="system">The protocol.</param>
    /// <param name="method">The called method, which is the activity's name unless the method is
    /// unknown.</param>
    /// <param name="parent">The parent; the default for the current activity.</param>
    /// <param name="tags">The attributes.</param>
    /// <returns>Null if no listener samples the activity.</returns>
    public static Activity? Start(
        ActivityKind kind, string system, string method, ActivityContext parent, TagList tags) =>
        RpcDiagnostics.Source.StartActivity(
            method == UnknownMethod ? system : method, kind, parent, tags);

    /// <summary>Records the unknown method name that a caller sent.</summary>
    public static void SetOriginal(Activity activity, string called) =>
        activity.SetTag(OriginalMethod, called);

    /// <summary>The attributes at the start of a call.</summary>
    /// <param name="system">The protocol.</param>
    /// <param name="method">The called method.</param>
    /// <param name="endpoint">The endpoint.</param>
    public static TagList GetTags(string system, string method, RpcEndpoint endpoint)
    {
        TagList tags = [];
        tags.Add(System, system);
        tags.Add(Method, method);
        bool hasPort = endpoint.Port > 0;
        tags.Add(Address, hasPort ? endpoint.Host : endpoint.Name);
        if (hasPort)
        {
            tags.Add(Port, endpoint.Port);
        }

        return tags;
    }

    /// <summary>Adds the status of a call.</summary>
    /// <param name="tags">The attributes of the call.</param>
    /// <param name="status">The status.</param>
    /// <param name="isError">Whether the status is an error of the side that reports it.</param>
    public static void AddStatus(ref TagList tags, RpcStatusCode status, bool isError)
    {
        tags.Add(Status, StatusNames[status]);
        if (isError)
        {
            tags.Add(ErrorType, StatusNames[status]);
        }
    }

    /// <summary>Sets the status of a call.</summary>
    /// <param name="activity">The activity of the call.</param>
    /// <param name="status">The status.</param>
    /// <param name="isError">Whether the status is an error of the side that reports it.</param>
    public static void SetStatus(Activity activity, RpcStatusCode status, bool isError)
    {
        activity.SetTag(Status, StatusNames[status]);
        if (isError)
        {
            activity.SetTag(ErrorType, StatusNames[status]);
            activity.SetStatus(ActivityStatusCode.Error);
        }
    }

    // The names of gRPC. Connect's only differ in the spelling of CANCELLED.
    private static string NameOf(RpcStatusCode code) => code switch
    {
        RpcStatusCode.OK => "OK",
        RpcStatusCode.Cancelled => "CANCELLED",
        _ => ConnectCodes.NameOf(code).ToUpperInvariant(),
    };
}

/// <summary>Creates correlation ids, under which a server logs exceptions that it does not send.</summary>
internal static class CorrelationIds
{
    private const int Bytes = 8;

    // No tracing system has longer ids.
    private const int MaxLength = 64;

    public static string New() => Convert.ToHexStringLower(RandomNumberGenerator.GetBytes(Bytes));

    /// <summary>A received id; null for an invalid one.</summary>
    public static string? Accept(string? received) =>
        received is { Length: > 0 and <= MaxLength }
            && received.All(c => char.IsAsciiLetterOrDigit(c) || c == '-')
            ? received
            : null;
}
