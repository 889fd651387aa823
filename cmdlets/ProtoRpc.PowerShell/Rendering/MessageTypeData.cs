using System.Management.Automation.Runspaces;
using System.Reflection;
using ProtoRpc.PowerShell.Objects;

namespace ProtoRpc.PowerShell.Rendering;

/// <summary>The type data of messages and of the lists in them, which define their text, and of results of
/// load tests.</summary>
/// <remarks>The type data is added directly to the runspace's table, which is not public. A types.ps1xml
/// fails if a runspace imports the module again from another folder, for example after an update.
/// Update-TypeData is in a module that takes longer to load than this one.</remarks>
internal static class MessageTypeData
{
    // Without a property name, Compare-Object, Sort-Object and Group-Object compare messages by this
    // property, their text. No field can have this name.
    private const string Key = "@text";

    // The text of a load test's result. PowerShell cannot format the object after it was received from a job.
    private const string Report = "@report";

    // Values of .NET in a message, such as a DateTimeOffset, are cut to a text at depth 0, without
    // fractions of seconds.
    private const uint Depth = 2;

    private const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic;

    /// <summary>Adds the type data to a runspace.</summary>
    public static void Add(EngineIntrinsics shell)
    {
        Add(shell, OfMessages(ObjectTypeNames.Common));
        Add(shell, OfMessages(DeserializedValue.Prefix + ObjectTypeNames.Common));
        Add(shell, OfRaw());
        Add(shell, OfRestoredRaw());
        Add(shell, OfLoadResults());
        Add(shell, OfCollections(ObjectTypeNames.Collection));
        Add(shell, OfCollections(DeserializedValue.Prefix + ObjectTypeNames.Collection));
    }

    private static TypeData OfMessages(string name)
    {
        MethodInfo text = MethodOf(nameof(RpcView.ToText));
        TypeData message = new(name)
        {
            IsOverride = true,
            DefaultKeyPropertySet = new PropertySetData([Key]),
            // Serializes the object's own properties, its fields, and not the hidden ones of this type data.
            SerializationMethod = "SpecificProperties",
            SerializationDepth = Depth,
        };
        message.Members.Add(nameof(ToString), new CodeMethodData(nameof(ToString), text));
        AddHidden(message, Key, text);
        AddView(message);
        return message;
    }

    private static TypeData OfRaw()
    {
        TypeData raw = new(typeof(DynamicMessage))
        {
            IsOverride = true,
            SerializationMethod = "SpecificProperties",
            SerializationDepth = Depth,
            PropertySerializationSet =
                new PropertySetData([DeserializedValue.RawType, DeserializedValue.RawBytes]),
        };
        AddHidden(raw, DeserializedValue.RawType, MethodOf(nameof(RpcView.TypeOf)));
        AddHidden(raw, DeserializedValue.RawBytes, MethodOf(nameof(RpcView.Encode)));
        AddView(raw);
        return raw;
    }

    private static TypeData OfRestoredRaw()
    {
        TypeData raw =
            new(DeserializedValue.Raw) { IsOverride = true };
        AddView(raw);
        return raw;
    }

    private static TypeData OfLoadResults()
    {
        TypeData result = new(typeof(RpcLoadResult))
        {
            IsOverride = true,
            SerializationMethod = "SpecificProperties",
            PropertySerializationSet = new PropertySetData(
                [.. typeof(RpcLoadResult).GetProperties().Select(property => property.Name), Report]),
        };
        AddHidden(result, Report, MethodOf(nameof(RpcView.Report)));
        return result;
    }

    private static TypeData OfCollections(string name)
    {
        TypeData collection = new(name) { IsOverride = true };
        collection.Members.Add(
            nameof(ToString), new CodeMethodData(nameof(ToString), MethodOf(nameof(RpcView.ToCell))));
        return collection;
    }

    // The properties that the view of messages reads.
    private static void AddView(TypeData data)
    {
        AddHidden(data, "@table", MethodOf(nameof(RpcView.Group)));
        AddHidden(data, "@header", MethodOf(nameof(RpcView.StartTable)));
        AddHidden(data, "@view", MethodOf(nameof(RpcView.Show)));
    }

    private static MethodInfo MethodOf(string name) => typeof(RpcView).GetMethod(name, [typeof(PSObject)])!;

    private static void AddHidden(TypeData data, string name, MethodInfo get) =>
        data.Members.Add(name, new CodePropertyData(name, get) { IsHidden = true });

    private static void Add(EngineIntrinsics shell, TypeData data)
    {
        try
        {
            if (TableOf(shell) is { } table)
            {
                table.AddType(data);
            }
            else
            {
                // Another version of the shell may store the table elsewhere.
                shell.InvokeCommand.InvokeScript("param($data) Update-TypeData -TypeData $data -Force", data);
            }
        }
        catch (RuntimeException)
        {
            // Other type data with this name cannot be replaced, and stays.
        }
    }

    private static TypeTable? TableOf(EngineIntrinsics shell)
    {
        object? context = typeof(EngineIntrinsics).GetField("_context", Hidden)?.GetValue(shell);
        return context?.GetType().GetProperty("TypeTable", Hidden)?.GetValue(context) as TypeTable;
    }
}
