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
        // The messages of google/protobuf are not compared, but extensions of them are.
        if (!Schema.WellKnownFiles.Contains(older.File.Name))
        {
            SchemaElement element = new(older.FullName, newer.File, newer.Path);
            ReservedNumbers reserved = ReservedNumbers.FromMessage(newer.Proto);
            CompareFields(older, newer, reserved);
            CompareOneofs(older, newer);
            CompareRanges(older, newer, reserved, element);
            CompareOptions(older, newer, element);
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

    private void CompareFields(RpcMessageInfo older, RpcMessageInfo newer, ReservedNumbers reserved)
    {
        Dictionary<int, RpcFieldInfo> fields = newer.Fields.ToDictionary(field => field.Number);
        foreach (RpcFieldInfo field in older.Fields)
        {
            if (fields.Remove(field.Number, out RpcFieldInfo? other))
            {
                _fields.Compare(field, other);
            }
            else
            {
                AddDeletion(
                    field, reserved,
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
        NumberDeletion deletion = new(reserved, "FIELD", field.Number, [field.Name], newNumber);
        changes.Add(
            RpcBreakingRule.FieldDeleted,
            field.IsRequired
                ? deletion.Category | RpcBreakingCategory.Wire | RpcBreakingCategory.Json
                : deletion.Category,
            SchemaElement.Deleted(field.FullName, field.File, field.Path),
            $"The {(field.IsRequired ? "required " : "")}field {Shown(field.Name)} = {field.Number} was "
            + $"deleted. {deletion.Advice}",
            field.IsRequired ? [.. deletion.BufRules, "MESSAGE_SAME_REQUIRED_FIELDS"] : deletion.BufRules);
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

    private void CompareRanges(
        RpcMessageInfo older, RpcMessageInfo newer, ReservedNumbers reserved, SchemaElement element)
    {
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
            ReservedNumbers.FromMessage(older.Proto), reserved, element, "RESERVED_MESSAGE_NO_DELETE",
            changes);
    }

    private static IEnumerable<NumberRange> RangesOf(
        IEnumerable<DescriptorProto.Types.ExtensionRange> ranges) =>
        ranges.Select(range => NumberRange.FromMessage(range.Start, range.End));

    private void CompareOptions(RpcMessageInfo older, RpcMessageInfo newer, SchemaElement element)
    {
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

        changes.AddJsonFormat(features.Get(older), features.Get(newer), element, "MESSAGE_SAME_JSON_FORMAT");
    }
}
