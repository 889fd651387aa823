using System.Text;
using System.Text.Json;

namespace ProtoRpc.Tool.Answers;

/// <summary>Cuts a text into the JSON values that stand in it one after the other.</summary>
internal static class JsonValues
{
    // Objects and the arrays between them, for messages nested as deep as the limit.
    private static readonly JsonReaderOptions Reading = new()
    {
        AllowMultipleValues = true,
        AllowTrailingCommas = true,
        CommentHandling = JsonCommentHandling.Skip,
        MaxDepth = 2 * 100,
    };

    /// <summary>The replies that a text has for a method: its values, or the elements of its only value where
    /// that is an array and the method sends a stream.</summary>
    /// <param name="text">The text.</param>
    /// <param name="isStream">Whether the method sends a stream.</param>
    /// <param name="where">Where the text stood, for the error.</param>
    /// <exception cref="UsageException">It is not JSON.</exception>
    public static IReadOnlyList<string> Replies(string text, bool isStream, string where)
    {
        byte[] utf8 = Encoding.UTF8.GetBytes(text);
        try
        {
            List<string> values = Read(utf8, unwrap: false);
            return isStream && values is [['[', ..]] ? Read(utf8, unwrap: true) : values;
        }
        catch (JsonException e)
        {
            throw new UsageException($"{where} is not JSON: {e.Message}", e);
        }
    }

    private static List<string> Read(byte[] utf8, bool unwrap)
    {
        Utf8JsonReader reader = new(utf8, Reading);
        List<string> values = [];
        while (reader.Read())
        {
            if (unwrap && reader.CurrentDepth == 0
                && reader.TokenType is JsonTokenType.StartArray or JsonTokenType.EndArray)
            {
                continue;
            }

            int start = (int)reader.TokenStartIndex;
            reader.Skip();
            values.Add(Encoding.UTF8.GetString(utf8, start, (int)reader.BytesConsumed - start));
        }

        return values;
    }
}
