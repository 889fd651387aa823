using System.Text;
using Google.Protobuf;
using Google.Protobuf.Reflection;
using ProtoRpc.Fuzz.Inputs;

namespace ProtoRpc.Fuzz.Targets;

/// <summary>ProtoJSON as Google.Protobuf reads and writes it.</summary>
internal static class GoogleJson
{
    private static readonly UTF8Encoding Strict = new(false, throwOnInvalidBytes: true);

    private static readonly JsonParser Parser =
        new(new JsonParser.Settings(100, GeneratedTypes.Registry));

    private static readonly JsonParser LooseParser =
        new(new JsonParser.Settings(100, GeneratedTypes.Registry).WithIgnoreUnknownFields(true));

    private static readonly JsonFormatter Formatter =
        new(new JsonFormatter.Settings(false, GeneratedTypes.Registry));

    /// <summary>Reads a message.</summary>
    /// <returns>The message, or what is wrong.</returns>
    public static (IMessage? Message, string Problem) Read(
        MessageDescriptor type, byte[] json, bool ignoreUnknown) => Try(() =>
    {
        using StringReader text = new(Strict.GetString(json));
        return (ignoreUnknown ? LooseParser : Parser).Parse(text, type);
    });

    /// <summary>Writes a message.</summary>
    /// <returns>The bytes, or what is wrong.</returns>
    public static (byte[]? Json, string Problem) Write(IMessage message) =>
        Try(() => Strict.GetBytes(Formatter.Format(message)));

    private static (T? Result, string Problem) Try<T>(Func<T> run)
        where T : class
    {
        try
        {
            return (run(), "");
        }
#pragma warning disable CA1031 // It throws all kinds, NullReferenceException too.
        catch (Exception e)
#pragma warning restore CA1031
        {
            return (null, $"{e.GetType().Name}: {e.Message}");
        }
    }
}
