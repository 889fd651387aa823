using System.Collections.Frozen;
using Microsoft.Extensions.Primitives;
using Microsoft.Net.Http.Headers;
using ProtoRpc.Protocols.Http;

namespace ProtoRpc.AspNetCore.Http;

/// <summary>Agrees with a client on the formats of request and reply (RFC 9110
/// sections 8.3 and 12.5.1).</summary>
internal static class MediaTypes
{
    private const int MaxAccepted = 64;

    // The formats in the order of preference, for a client that accepts all or several equally.
    private static readonly MessageFormat[] Offered = [.. MessageFormats.OfHttp];

    // Fast path: most programs send one type without parameters.
    private static readonly FrozenDictionary<string, (MessageFormat Format, string MediaType)> Exact =
        (from format in Offered
         from name in format.MediaTypes.Prepend(format.MediaType).Distinct()
         select KeyValuePair.Create(name, (format, MediaTypeOf(format, name)))).ToFrozenDictionary();

    /// <summary>The media types that the listener supports, for errors.</summary>
    public static string Known { get; } = string.Join(", ", Offered.Select(format => format.MediaTypes[0]));

    /// <summary>The same for Accept-Post, with the names of the Connect protocol.</summary>
    public static string AcceptPost { get; } = string.Join(", ", Offered
        .Select(format => format.MediaTypes[0])
        .Concat(Offered.Where(format => format.Row.ConnectName is not null).SelectMany(
            format => new[] { $"application/{format.Row.ConnectName}", ConnectFraming.TypeOf(format) }))
        .Distinct());

    /// <summary>The format of a request's body.</summary>
    /// <returns>Null when the media type, or its charset, is not known.</returns>
    public static MessageFormat? ReaderOf(string? contentType)
    {
        if (contentType is not null
            && Exact.TryGetValue(contentType, out (MessageFormat Format, string _) exact))
        {
            return exact.Format;
        }

        if (!MediaTypeHeaderValue.TryParse(contentType, out MediaTypeHeaderValue? type)
            || !MessageFormats.TryFind(type.MediaType.Value ?? "", out MessageFormat? format)
            || Array.IndexOf(Offered, format) < 0 || !type.MediaType.Value!.Contains('/'))
        {
            return null;
        }

        // XML declares its own encoding. The other formats are UTF-8, which includes ASCII.
        StringSegment charset = HeaderUtilities.RemoveQuotes(type.Charset);
        return !charset.HasValue || !format.IsText
            || charset.Equals("utf-8", StringComparison.OrdinalIgnoreCase)
            || charset.Equals("us-ascii", StringComparison.OrdinalIgnoreCase)
                ? format
                : null;
    }

    /// <summary>The format of the reply and the media type to name it by.</summary>
    /// <param name="accept">The Accept header.</param>
    /// <param name="request">The format of the request's body; null for a request without a body.</param>
    /// <param name="contentType">The media type of the request's body. Clients of the Connect protocol reject
    /// a reply that has another name of the same format.</param>
    /// <returns>Null if the client accepts none of the formats.</returns>
    public static (MessageFormat Format, string MediaType)? WriterOf(
        StringValues accept, MessageFormat? request, string? contentType = null)
    {
        MessageFormat preferred = request is null or { Row.IsByNameOnly: true } ? Offered[0] : request;
        if (AcceptsAll(accept))
        {
            return (preferred, MediaTypeOf(preferred, NameOf(preferred, contentType)));
        }

        if (accept.Count == 1 && Exact.TryGetValue(accept[0]!, out (MessageFormat, string) exact))
        {
            return exact;
        }

        if (!MediaTypeHeaderValue.TryParseList(accept, out IList<MediaTypeHeaderValue>? ranges)
            || ranges.Count > MaxAccepted)
        {
            return null;
        }

        (MessageFormat, string)? best = null;
        double bestQuality = 0;
        foreach (MessageFormat format in Offered.OrderBy(format => format == preferred ? 0 : 1))
        {
            string first = NameOf(format, contentType);
            foreach (string name in format.MediaTypes.OrderBy(name => name == first ? 0 : 1))
            {
                // A form is only sent to clients that request it by name, not by a wildcard.
                double quality = QualityOf(name, ranges, exactly: format.Row.IsByNameOnly);
                if (quality > bestQuality)
                {
                    bestQuality = quality;
                    best = (format, MediaTypeOf(format, name));
                }
            }
        }

        return best;
    }

    /// <summary>Whether a client accepts a format, possibly by a wildcard.</summary>
    public static bool Accepts(StringValues accept, MessageFormat format)
    {
        if (AcceptsAll(accept))
        {
            return true;
        }

        return accept.Count == 1
            && Exact.TryGetValue(accept[0]!, out (MessageFormat Format, string _) exact)
                ? exact.Format == format
                : MediaTypeHeaderValue.TryParseList(accept, out IList<MediaTypeHeaderValue>? ranges)
                    && ranges.Count <= MaxAccepted
                    && format.MediaTypes.Any(name => QualityOf(name, ranges, exactly: false) > 0);
    }

    /// <summary>The format for the replies of a server-streaming method.</summary>
    /// <param name="accept">The Accept header.</param>
    /// <param name="request">The format of the request's body; null for a request without a body.</param>
    /// <returns>Null if the client accepts none of the formats.</returns>
    public static HttpStreamFormat? StreamOf(StringValues accept, MessageFormat? request)
    {
        HttpStreamFormat preferred = HttpStreamFormat.From(request);
        if (AcceptsAll(accept))
        {
            return preferred;
        }

        return !MediaTypeHeaderValue.TryParseList(accept, out IList<MediaTypeHeaderValue>? ranges)
            || ranges.Count > MaxAccepted
                ? null
                : HttpStreamFormat.All
                    .Select(format => (
                        format,
                        quality: format.MediaTypes.Max(name => QualityOf(name, ranges, exactly: false))))
                    .Where(offer => offer.quality > 0)
                    .OrderByDescending(offer => offer.quality)
                    .ThenBy(offer => offer.format == preferred ? 0 : 1)
                    .FirstOrDefault().format;
    }

    // Fast path: curl, browsers and clients of Connect accept all.
    private static bool AcceptsAll(StringValues accept) =>
        StringValues.IsNullOrEmpty(accept) || (accept.Count == 1 && accept[0] == "*/*");

    // The media type that the client used for this format, otherwise the format's first one.
    private static string NameOf(MessageFormat format, string? contentType)
    {
        if (contentType is null || contentType == format.MediaType)
        {
            return format.MediaTypes[0];
        }

        // Fast path: most programs send the name without parameters.
        string? name = format.MediaTypes.Contains(contentType) ? contentType
            : MediaTypeHeaderValue.TryParse(contentType, out MediaTypeHeaderValue? type)
                ? format.MediaTypes.FirstOrDefault(
                    known => type.MediaType.Equals(known, StringComparison.OrdinalIgnoreCase))
            : null;
        return name ?? format.MediaTypes[0];
    }

    private static string MediaTypeOf(MessageFormat format, string name) =>
        name == format.MediaTypes[0] ? format.MediaType : name;

    // The quality of a media type is that of the most specific matching range.
    private static double QualityOf(string name, IList<MediaTypeHeaderValue> ranges, bool exactly)
    {
        int bestMatch = 0;
        double quality = 0;
        foreach (MediaTypeHeaderValue range in ranges)
        {
            StringSegment wanted = range.MediaType;
            int match = wanted.Equals(name, StringComparison.OrdinalIgnoreCase) ? 3
                : exactly ? 0
                : range.MatchesAllTypes ? 1
                : range.MatchesAllSubTypes
                    && name.StartsWith($"{range.Type}/", StringComparison.OrdinalIgnoreCase) ? 2
                : 0;
            if (match > bestMatch)
            {
                bestMatch = match;
                quality = range.Quality ?? 1;
            }
        }

        return quality;
    }
}
