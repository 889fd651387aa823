using System.Runtime.Serialization;

namespace ProtoRpc.Calls.Native;

/// <summary>What types of exceptions serialize beside that which all of them do, as ParamName:
/// the original's clients make an exception anew by its serialization constructor,
/// which misses every member that does not come.</summary>
internal static class SerializedMembers
{
    // The members of Exception itself; those that matter have fields of their own.
    private static readonly HashSet<string> OfException = new(StringComparer.Ordinal)
    {
        "ClassName", "Message", "Data", "InnerException", "HelpURL", "StackTraceString",
        "RemoteStackTraceString", "RemoteStackIndex", "ExceptionMethod", "HResult", "Source", "WatsonBuckets",
    };

    /// <summary>Names and values; nothing of a type that cannot tell.</summary>
    public static IReadOnlyList<KeyValuePair<string, object?>> Of(Exception error)
    {
        List<KeyValuePair<string, object?>> members = [];
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
                if (!OfException.Contains(entry.Name) && !error.Data.Contains(entry.Name))
                {
                    members.Add(new(entry.Name, entry.Value));
                }
            }
        }
        catch (Exception)
        {
            // A type of the application's own that does not serialize:
            // what all exceptions have is told anyhow.
            members.Clear();
        }

        return members;
    }
}
