using Google.Protobuf.Reflection;
using ProtoRpc.Schema;
using static ProtoRpc.Compatibility.ChangeList;

namespace ProtoRpc.Compatibility;

/// <summary>Compares two versions of an enum.</summary>
/// <param name="changes">Gets what breaks.</param>
/// <param name="features">Finds features.</param>
internal sealed class EnumComparer(ChangeList changes, FeatureResolver features)
{
    public void Compare(RpcEnumInfo older, RpcEnumInfo newer)
    {
        if (WellKnownFiles.Contains(older.File.Name))
        {
            return;
        }

        SchemaElement element = new(older.FullName, newer.File, newer.Path);
        if (older.IsClosed != newer.IsClosed)
        {
            changes.Add(
                RpcBreakingRule.EnumOpennessChanged, RpcBreakingCategory.Source, element,
                $"The enum was {(older.IsClosed ? "closed" : "open")} and is "
                + $"{(newer.IsClosed ? "closed" : "open")}: code reads numbers without a name differently. "
                + "Set the feature enum_type back.",
                "ENUM_SAME_TYPE");
        }

        changes.AddJsonFormat(features.Get(older), features.Get(newer), element, "ENUM_SAME_JSON_FORMAT");

        ReservedNumbers reserved = ReservedNumbers.FromEnum(newer.Proto);
        CompareValues(older, newer, reserved);
        ReservedComparer.Compare(
            ReservedNumbers.FromEnum(older.Proto), reserved, element, "RESERVED_ENUM_NO_DELETE", changes);
    }

    // Values are compared by number, because several names may have the same number.
    private void CompareValues(RpcEnumInfo older, RpcEnumInfo newer, ReservedNumbers reserved)
    {
        Dictionary<int, List<int>> before = IndexesByNumber(older.Proto);
        Dictionary<int, List<int>> after = IndexesByNumber(newer.Proto);
        Dictionary<string, int> numbers = newer.Proto.Value
            .DistinctBy(value => value.Name).ToDictionary(value => value.Name, value => value.Number);
        foreach ((int number, List<int> indexes) in before)
        {
            string[] names = [.. indexes.Select(index => older.Proto.Value[index].Name)];
            if (!after.TryGetValue(number, out List<int>? others))
            {
                AddDeletion(
                    older, indexes[0], names, reserved,
                    numbers.TryGetValue(names[0], out int now) ? now : null);
                continue;
            }

            HashSet<string> kept = [.. others.Select(index => newer.Proto.Value[index].Name)];
            foreach (int index in indexes.Where(index => !kept.Contains(older.Proto.Value[index].Name)))
            {
                string lost = older.Proto.Value[index].Name;
                string newName = newer.Proto.Value[others[0]].Name;
                changes.Add(
                    RpcBreakingRule.EnumValueRenamed, RpcBreakingCategory.Json | RpcBreakingCategory.Source,
                    new SchemaElement(
                        ElementName(older, index), newer.File, PathOf(newer, others[0])),
                    $"The value {number} is no longer named {Shown(lost)}, but {Shown(newName)}. Keep the "
                    + "name: JSON uses it. 'option allow_alias = true;' allows both names.",
                    "ENUM_VALUE_SAME_NAME");
            }
        }
    }

    private void AddDeletion(
        RpcEnumInfo older, int index, string[] names, ReservedNumbers reserved, int? newNumber)
    {
        int number = older.Proto.Value[index].Number;
        NumberDeletion deletion = new(reserved, "ENUM_VALUE", number, names, newNumber);
        changes.Add(
            RpcBreakingRule.EnumValueDeleted, deletion.Category,
            SchemaElement.Deleted(ElementName(older, index), older.File, PathOf(older, index)),
            $"The value {Shown(names[0])} = {number} was deleted. {deletion.Advice}",
            deletion.BufRules);
    }

    private static Dictionary<int, List<int>> IndexesByNumber(EnumDescriptorProto type)
    {
        Dictionary<int, List<int>> indexes = [];
        for (int i = 0; i < type.Value.Count; i++)
        {
            if (!indexes.TryGetValue(type.Value[i].Number, out List<int>? sameNumber))
            {
                indexes.Add(type.Value[i].Number, sameNumber = []);
            }

            sameNumber.Add(i);
        }

        return indexes;
    }

    private static string ElementName(RpcEnumInfo type, int index) =>
        $"{type.FullName}.{type.Proto.Value[index].Name}";

    private static string PathOf(RpcEnumInfo type, int index) =>
        $"{type.Path},{EnumDescriptorProto.ValueFieldNumber},{index}";
}
