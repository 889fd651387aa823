using System.Buffers;
using System.Diagnostics;

namespace ProtoRpc.Protocols;

/// <summary>The activity that a call belongs to, as headers: W3C's <c>traceparent</c> and
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

    // What W3C Trace Context, section 3.3.1.5, requires to be passed on; more is left out.
    private const int MaxStateLength = 512;

    private static readonly SearchValues<char> LowerHex = SearchValues.Create("0123456789abcdef");
    private static readonly SearchValues<char> KeyCharacters =
        SearchValues.Create("abcdefghijklmnopqrstuvwxyz0123456789_-*/@");

    /// <summary>Whether the headers name an activity already.</summary>
    public static bool IsIn(RpcMetadata headers) => headers.Names.Contains(Parent);

    /// <summary>Takes the activity that the headers name out of them.</summary>
    public static void Remove(RpcMetadata headers)
    {
        headers.Remove(Parent);
        headers.Remove(State);
    }

    /// <summary>Adds an activity to the headers of a call.</summary>
    /// <remarks>An activity in another format than W3C's is not sent.</remarks>
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

    /// <summary>The activity that the headers of a call name, by W3C Trace Context.</summary>
    /// <returns>The default where they name none, several, or one that is malformed. A state that is
    /// malformed is left out.</returns>
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

    // Section 3.2.2: 00-TRACEID-SPANID-FLAGS in lower case. Section 3.2.4: later versions begin so, and may
    // have more behind it; ff is none.
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
