namespace ProtoRpc.Protocols.Rest;

/// <summary>The path of a request, split at its slashes while it is percent-encoded: an encoded slash does
/// not separate segments.</summary>
/// <remarks>A slash at the end of the path does not count as a segment.</remarks>
internal sealed class RestPath
{
    private readonly string[] _coded;
    private readonly string?[] _texts;

    private RestPath(string[] coded, bool hasSlash)
    {
        _coded = coded;
        _texts = Array.ConvertAll(
            coded, static segment => segment.Contains('%') ? RestText.Decode(segment) : segment);
        HasSlash = hasSlash;
    }

    /// <summary>The number of segments.</summary>
    public int Count => _coded.Length;

    /// <summary>Whether the path ends with a slash.</summary>
    public bool HasSlash { get; }

    /// <summary>The possible verb of the path: the text after the last colon; null for no colon. An encoded
    /// colon begins no verb.</summary>
    public string? Verb { get; private init; }

    /// <summary>Whether a segment is . or .., also if it is encoded. Such a path refers to another path, so
    /// it matches no route.</summary>
    public bool HasDots => Array.Exists(_texts, text => text is "." or "..");

    /// <summary>Splits a path.</summary>
    /// <param name="path">The percent-encoded path, without a query.</param>
    public static RestPath Parse(ReadOnlySpan<char> path)
    {
        path = path.StartsWith('/') ? path[1..] : path;
        bool hasSlash = path.EndsWith('/');
        path = hasSlash ? path[..^1] : path;
        string[] segments = path.IsEmpty && !hasSlash ? [] : path.ToString().Split('/');
        int colon = segments.Length == 0 ? -1 : segments[^1].LastIndexOf(':');
        return new RestPath(segments, hasSlash)
        {
            Verb = colon < 0 ? null : RestText.Decode(segments[^1].AsSpan(colon + 1)),
        };
    }

    /// <summary>The path before its verb.</summary>
    public RestPath WithoutVerb()
    {
        string last = _coded[^1][.._coded[^1].LastIndexOf(':')];

        // A variable of zero segments may stand before the verb: /v1/:verb.
        return last.Length == 0
            ? new RestPath(_coded[..^1], hasSlash: true)
            : new RestPath([.. _coded[..^1], last], HasSlash);
    }

    /// <summary>A segment for the comparison with literals of templates: decoded, if its percent codes are
    /// valid.</summary>
    public string this[int index] => _texts[index] ?? _coded[index];

    /// <summary>The value of a variable.</summary>
    /// <param name="start">The index of its first segment.</param>
    /// <param name="end">The index after its last segment.</param>
    /// <param name="isMulti">Whether its template has several segments, or <c>**</c>: encoded slashes then
    /// stay encoded, so that they differ from those between segments.</param>
    /// <returns>Null if the percent codes are invalid, or not UTF-8.</returns>
    public string? ValueOf(int start, int end, bool isMulti)
    {
        if (!isMulti)
        {
            return _texts[start];
        }

        StringBuilder value = new();
        for (int i = start; i < end; i++)
        {
            if (RestText.Decode(_coded[i], keepsSlash: true) is not { } text)
            {
                return null;
            }

            value.Append(i > start ? "/" : "").Append(text);
        }

        return value.Append(HasSlash && end == Count && end > start ? "/" : "").ToString();
    }
}

/// <summary>Encodes and decodes the percent codes of paths and queries, by google/api/http.proto and RFC
/// 3986.</summary>
internal static class RestText
{
    private const int EscapeLength = 3;

    private static readonly UTF8Encoding Strict = new(false, throwOnInvalidBytes: true);

    /// <summary>Decodes percent codes.</summary>
    /// <param name="coded">The encoded text.</param>
    /// <param name="keepsSlash">Whether %2F is not decoded.</param>
    /// <param name="plusIsSpace">Whether a plus sign is a space, as in queries.</param>
    /// <returns>Null if a code is not two hexadecimal digits, or the bytes are not UTF-8.</returns>
    public static string? Decode(
        ReadOnlySpan<char> coded, bool keepsSlash = false, bool plusIsSpace = false)
    {
        if (!coded.ContainsAny('%', '+'))
        {
            return coded.ToString();
        }

        // A character has up to three bytes for each of its units of UTF-16.
        byte[] bytes = ArrayPool<byte>.Shared.Rent(coded.Length * 3);
        try
        {
            int length = 0;
            for (int i = 0; i < coded.Length; i++)
            {
                if (coded[i] != '%')
                {
                    int run = coded[i..].IndexOf('%');
                    ReadOnlySpan<char> plain = run < 0 ? coded[i..] : coded.Slice(i, run);
                    int written = Encoding.UTF8.GetBytes(plain, bytes.AsSpan(length));
                    if (plusIsSpace)
                    {
                        bytes.AsSpan(length, written).Replace((byte)'+', (byte)' ');
                    }

                    length += written;
                    i += plain.Length - 1;
                }
                else if (i + EscapeLength > coded.Length || !byte.TryParse(
                    coded.Slice(i + 1, 2), NumberStyles.AllowHexSpecifier, CultureInfo.InvariantCulture,
                    out byte value))
                {
                    return null;
                }
                else
                {
                    if (keepsSlash && value == (byte)'/')
                    {
                        length += Encoding.UTF8.GetBytes(coded.Slice(i, EscapeLength), bytes.AsSpan(length));
                    }
                    else
                    {
                        bytes[length++] = value;
                    }

                    i += EscapeLength - 1;
                }
            }

            return Strict.GetString(bytes, 0, length);
        }
        catch (DecoderFallbackException)
        {
            return null;
        }
        finally
        {
            ArrayPool<byte>.Shared.Return(bytes);
        }
    }

    /// <summary>Encodes a text: all characters except letters, digits and <c>-_.~</c>.</summary>
    /// <param name="output">Receives the encoded text.</param>
    /// <param name="text">The text.</param>
    /// <param name="keepsSlash">Whether slashes are not encoded.</param>
    public static void Encode(StringBuilder output, ReadOnlySpan<char> text, bool keepsSlash = false)
    {
        string coded = Uri.EscapeDataString(text);
        output.Append(keepsSlash ? coded.Replace("%2F", "/", StringComparison.Ordinal) : coded);
    }
}
