using System.Runtime.Serialization;

namespace ProtoRpc.Protocols.Native;

/// <summary>What an exception serializes: the original's clients make it anew by its serialization
/// constructor, which misses every member that does not come.</summary>
/// <param name="Message">The message member, null where the exception was made without a message.</param>
/// <param name="Others">Names and values of what its type adds, as ParamName.</param>
internal sealed record SerializedMembers(string? Message, IReadOnlyList<KeyValuePair<string, object?>> Others)
{
    /// <summary>The members of Exception itself; those that matter have fields of their own.</summary>
    public static IReadOnlyList<string> OfException { get; } =
    [
        "ClassName", "Message", "Data", "InnerException", "HelpURL", "StackTraceString",
        "RemoteStackTraceString", "RemoteStackIndex", "ExceptionMethod", "HResult", "Source", "WatsonBuckets",
    ];

    /// <summary>The members; of a type that does not serialize, only what all exceptions have.</summary>
    public static SerializedMembers Of(Exception error)
    {
        List<KeyValuePair<string, object?>> others = [];
        string? message = null;
        try
        {
            // Obsolete for formatters that make objects of any type;
            // here names and values are read, and nothing is made.
#pragma warning disable SYSLIB0050, SYSLIB0051
            SerializationInfo info = new(error.GetType(), new FormatterConverter());
            error.GetObjectData(info, default);
#pragma warning restore SYSLIB0050, SYSLIB0051
            foreach (SerializationEntry entry in info)
            {
                if (entry.Name == nameof(Exception.Message))
                {
                    message = entry.Value as string;
                }
                else if (!OfException.Contains(entry.Name))
                {
                    // What is declared as an object, as ActualValue, the original sends without its value.
                    bool hasValue = entry.ObjectType == typeof(string) || entry.ObjectType.IsPrimitive;
                    others.Add(new(entry.Name, hasValue ? entry.Value : null));
                }
            }
        }
        catch (Exception)
        {
            return new SerializedMembers(error.Message, []);
        }

        return new SerializedMembers(message, others);
    }
}
