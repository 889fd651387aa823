using System.Collections;
using ProtoRpc.Messages.Binary;

namespace ProtoRpc.Messages.Mapping;

// Dictionaries, which hosts and scripts give most: their entries are read where they are, and a field that
// has one value takes no way that only lists, messages and oneofs need.
internal sealed partial class ObjectReader
{
    private DynamicMessage ReadEntries(MessageLayout layout, IDictionary dictionary, int depth)
    {
        DynamicMessage result = new(layout);
        int count = layout.Fields.Length;
        Span<bool> seen = count <= SmallMessage ? stackalloc bool[SmallMessage] : new bool[count];
        DottedMembers? dotted = null;
        List<FieldLayout>? emptyChoices = null;
        bool outerIsRow = _isRow;
        _isRow = dictionary is DottedMembers.Row;
        IDictionaryEnumerator entries = dictionary.GetEnumerator();
        try
        {
            while (entries.MoveNext())
            {
                string name = entries.Key as string ?? _objects.NameOf(entries.Key);
                object? value = Unwrap(entries.Value);
                if (layout.Find(name) is not { } field)
                {
                    ReadUnknown(layout, name, value, ref dotted);
                }
                else if (value is not null && !(IsSingle(field) && TryReadSingle(result, field, value, seen)))
                {
                    ReadMember(result, field, name, value, seen, ref emptyChoices, depth);
                }
            }
        }
        finally
        {
            (entries as IDisposable)?.Dispose();
        }

        ReadRest(result, dictionary, dotted, seen, emptyChoices, depth);
        _isRow = outerIsRow;
        return result;
    }

    private static bool IsSingle(FieldLayout field) =>
        !field.IsRepeated && !field.IsMessage && field.CaseSlot < 0;

    // False for anything unusual: the slow path finds out what is wrong, and where.
    private static bool TryReadSingle(
        DynamicMessage message, FieldLayout field, object value, Span<bool> seen)
    {
        if (seen[field.Index])
        {
            return false;
        }

        if (!field.IsReference)
        {
            if (value is string || ScalarReader.ReadScalar(field, value, out ulong bits) is not null)
            {
                return false;
            }

            message.StoreScalar(field, bits);
        }
        else if (field.Kind == RpcFieldKind.Bytes ? value is byte[] { Length: > 0 } : IsText(value))
        {
            message.StoreReference(field, value);
        }
        else
        {
            return false;
        }

        seen[field.Index] = true;
        return true;
    }

    private static bool IsText(object value) =>
        value is string { Length: > 0 } text && !ScalarReader.HasLoneSurrogate(text);

    // A member of a name that no field has: a part of one, as a row of a table has them, or an error.
    private void ReadUnknown(MessageLayout layout, string name, object? value, ref DottedMembers? dotted)
    {
        if (DottedMembers.Split(layout, name) is var (start, rest))
        {
            dotted ??= new();
            if (!dotted.TryAdd(start, rest, value))
            {
                Path.PushField(name);
                throw Error(
                    RpcErrorIds.InvalidFieldValue, "two keys name this field. Remove one of them.");
            }
        }
        else if (!_mapper.AllowUnknownFields || layout.WellKnown != WellKnownType.None)
        {
            // An object of another kind in the place of a Timestamp would become 1970.
            throw UnknownField(layout, name);
        }
    }

    // What can be read only when all members are known.
    private void ReadRest(
        DynamicMessage result, object value, DottedMembers? dotted, Span<bool> seen,
        List<FieldLayout>? emptyChoices, int depth)
    {
        foreach (DottedMembers.Group group in dotted?.Groups ?? [])
        {
            ReadMember(
                result, group.Field, group.Field.Info.Name, group.IsEmpty ? "" : group.Members, seen,
                ref emptyChoices, depth);
        }

        ChooseEmptyText(result, emptyChoices, depth);
        if (_objects.TryGetSource(value) is { } source)
        {
            UnknownFieldFilter.Restore(result, source);
        }
    }
}
