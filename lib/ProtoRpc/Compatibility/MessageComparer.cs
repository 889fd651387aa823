using Google.Protobuf.Reflection;
using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>Compares two versions of a message: its fields, extensions, oneofs, reserved numbers and
/// options.</summary>
/// <param name="changes">Gets what breaks.</param>
/// <param name="features">Finds features.</param>
internal sealed class MessageComparer(ChangeList changes, FeatureResolver features)
{
    private readonly FieldComparer _fields = new(changes, features);

    public void Compare(RpcMessageInfo older, RpcMessageInfo newer)
    {
        // The files of google/protobuf are not compared, extensions of their messages are.
        if (!Schema.WellKnownFiles.Contains(older.File.Name))
        {
            CompareFields(older, newer);
            CompareOneofs(older, newer);
            CompareRanges(older, newer);
            CompareOptions(older, newer);
        }

        Dictionary<int, RpcFieldInfo> extensions =
            newer.Extensions.ToDictionary(extension => extension.Number);
        foreach (RpcFieldInfo extension in older.Extensions)
        {
            if (extensions.TryGetValue(extension.Number, out RpcFieldInfo? other))
            {
                _fields.Compare(extension, other);
            }
        }
    }

    private void CompareFields(RpcMessageInfo older, RpcMessageInfo newer)
    {
        Dictionary<int, RpcFieldInfo> fields = newer.Fields.ToDictionary(field => field.Number);
        ReservedNumbers? reserved = null;
        foreach (RpcFieldInfo field in older.Fields)
        {
            if (fields.Remove(field.Number, out RpcFieldInfo? other))
            {
                _fields.Compare(field, other);
            }
            else
            {
                AddDeletion(
                    field, reserved ??= ReservedNumbers.FromMessage(newer.Proto),
                    newer.FindField(field.Name) is { } same && same.Name == field.Name ? same.Number : null);
            }
        }

        foreach (RpcFieldInfo field in fields.Values.Where(field => field.IsRequired))
        {
            changes.Add(
                RpcBreakingRule.RequiredFieldAdded, RpcBreakingCategory.Wire | RpcBreakingCategory.Json,
                new SchemaElement(field.FullName, field.File, field.Path),
                $"The required field {Shown(field.Name)} was added. Messages of older programs lack it, and "
                + "are rejected. Make it optional.",
                "MESSAGE_SAME_REQUIRED_FIELDS");
        }
    }

    private void AddDeletion(RpcFieldInfo field, ReservedNumbers reserved, int? newNumber)
    {
        bool hasNumber = reserved.Numbers.Contains(field.Number);
        bool hasName = reserved.Names.Contains(field.Name);
        RpcBreakingCategory category = RpcBreakingCategory.Source;
        List<string> bufRules = ["FIELD_NO_DELETE"];
        if (!hasNumber)
        {
            category |= RpcBreakingCategory.Wire;
            bufRules.Add("FIELD_NO_DELETE_UNLESS_NUMBER_RESERVED");
        }

        if (!hasName)
        {
            category |= RpcBreakingCategory.Json;
            bufRules.Add("FIELD_NO_DELETE_UNLESS_NAME_RESERVED");
        }

        if (field.IsRequired)
        {
            category |= RpcBreakingCategory.Wire | RpcBreakingCategory.Json;
            bufRules.Add("MESSAGE_SAME_REQUIRED_FIELDS");
        }

        changes.Add(
            RpcBreakingRule.FieldDeleted, category,
            SchemaElement.Deleted(field.FullName, field.File, field.Path),
            $"The {(field.IsRequired ? "required " : "")}field {Shown(field.Name)} = {field.Number} was "
            + $"deleted. {DeletionAdvice.Get(hasNumber, hasName, field.Number, field.Name, newNumber)}",
            bufRules);
    }

    private void CompareOneofs(RpcMessageInfo older, RpcMessageInfo newer)
    {
        HashSet<string> names = [.. newer.Proto.OneofDecl.Select(oneof => oneof.Name)];
        foreach (RpcOneofInfo oneof in older.Oneofs.Where(oneof => !names.Contains(oneof.Name)))
        {
            changes.Add(
                RpcBreakingRule.OneofDeleted, RpcBreakingCategory.Source,
                SchemaElement.Deleted(
                    $"{older.FullName}.{oneof.Name}", older.File,
                    $"{older.Path},{DescriptorProto.OneofDeclFieldNumber},{oneof.Index}"),
                $"The oneof {Shown(oneof.Name)} was deleted. Keep it: generated code has a member for it.",
                "ONEOF_NO_DELETE");
        }
    }

    private void CompareRanges(RpcMessageInfo older, RpcMessageInfo newer)
    {
        SchemaElement element = new(older.FullName, newer.File, newer.Path);
        NumberRanges extensions = new(RangesOf(newer.Proto.ExtensionRange));
        foreach (NumberRange range in RangesOf(older.Proto.ExtensionRange)
            .Where(range => !extensions.Contains(range)))
        {
            changes.Add(
                RpcBreakingRule.ExtensionRangeDeleted, RpcBreakingCategory.Source, element,
                $"The range 'extensions {range}' is no longer complete. Add all its numbers again: "
                + "extensions in other files may use them.",
                "EXTENSION_MESSAGE_NO_DELETE");
        }

        ReservedComparer.Compare(
            ReservedNumbers.FromMessage(older.Proto), ReservedNumbers.FromMessage(newer.Proto), element,
            "RESERVED_MESSAGE_NO_DELETE", changes);
    }

    private static IEnumerable<NumberRange> RangesOf(
        IEnumerable<DescriptorProto.Types.ExtensionRange> ranges) =>
        ranges.Select(range => NumberRange.FromMessage(range.Start, range.End));

    private void CompareOptions(RpcMessageInfo older, RpcMessageInfo newer)
    {
        SchemaElement element = new(older.FullName, newer.File, newer.Path);
        if (older.IsMessageSet != newer.IsMessageSet)
        {
            changes.Add(
                RpcBreakingRule.MessageSetChanged, RpcBreakingCategory.Wire, element,
                $"The option message_set_wire_format changed to {(newer.IsMessageSet ? "true" : "false")}, "
                + "and with it the encoding of all extensions. Set it back.",
                "MESSAGE_SAME_MESSAGE_SET_WIRE_FORMAT");
        }

        if (older.Proto.Options?.NoStandardDescriptorAccessor != true
            && newer.Proto.Options?.NoStandardDescriptorAccessor == true)
        {
            changes.Add(
                RpcBreakingRule.DescriptorAccessorRemoved, RpcBreakingCategory.Source, element,
                "The option no_standard_descriptor_accessor was set, which removes a function from generated "
                + "code. Leave it out.",
                "MESSAGE_NO_REMOVE_STANDARD_DESCRIPTOR_ACCESSOR");
        }

        if (features.Get(older).AllowsJson && !features.Get(newer).AllowsJson)
        {
            changes.Add(
                RpcBreakingRule.JsonFormatChanged, RpcBreakingCategory.Json, element,
                "The feature json_format changed from ALLOW to LEGACY_BEST_EFFORT. Set it back to ALLOW.",
                "MESSAGE_SAME_JSON_FORMAT");
        }
    }
}

/// <summary>What to do about a field or value that was deleted.</summary>
internal static class DeletionAdvice
{
    /// <summary>Advice by what is reserved.</summary>
    /// <param name="hasNumber">Whether its number is reserved.</param>
    /// <param name="hasName">Whether its name is reserved.</param>
    /// <param name="number">Its number.</param>
    /// <param name="name">Its name, or names with commas.</param>
    /// <param name="newNumber">The number that the name has now; null if it is gone.</param>
    public static string Get(bool hasNumber, bool hasName, int number, string name, int? newNumber)
    {
        if (newNumber is { } now)
        {
            return $"The name has the number {now} now. Set it back to {number}.";
        }

        string quoted = $"\"{Shown(name)}\"";
        return (hasNumber, hasName) switch
        {
            (true, true) => "Mark it as deprecated first, and delete it when no code uses it.",
            (false, false) => $"Keep it, or write 'reserved {number};' and 'reserved {quoted};', so that "
                + "neither is used for something else.",
            (false, true) => $"Keep it, or write 'reserved {number};', so that the number is not used for "
                + "something else.",
            (true, false) => $"Keep it, or write 'reserved {quoted};', so that the name is not used for "
                + "something else.",
        };
    }
}
